// The environment, even before libc has set it up.
#pragma once

namespace lockswap {

// Returns the same as `environ`, with a nullptr at the end. Returns nullptr if the environment
// can't be found, or if the program has more rights than its user (setuid, setgid, file
// capabilities), because a variable could make it write a file that the user may not write.
char** environment() noexcept;

// Returns nullptr for a variable that is unset or empty.
const char* environment_value(const char* name) noexcept;

}  // namespace lockswap
