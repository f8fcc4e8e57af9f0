// The environment, also before libc has set it up.
#pragma once

namespace lockswap {

// As `environ`, which ends with a nullptr. Returns nullptr if it cannot be found, and in a program
// that has more rights than its user (setuid, setgid, file capabilities), since a variable could
// make it write a file that this user may not write.
char** environment() noexcept;

// A variable that is set to nothing counts as not set: nullptr.
const char* environment_value(const char* name) noexcept;

}  // namespace lockswap
