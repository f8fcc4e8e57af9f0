// The message if a recording has no file.
#pragma once

namespace lockswap {

// Prints why no file can be made in the folder, by recording::file_error(). `so` is the variable
// that asked for the file, and the consequence. The program goes on, because a missing recording is
// no reason to stop it.
void say_no_file(const char* so, const char* folder) noexcept;

}  // namespace lockswap
