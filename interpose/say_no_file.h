// What is said when a recording has no file.
#pragma once

namespace lockswap {

// Says why no file can be made in the folder, by recording::file_error(). `so`: the variable that
// asked for it, and what follows. The program goes on: a forbidden place is no reason to stop it.
void say_no_file(const char* so, const char* folder) noexcept;

}  // namespace lockswap
