// The environment, also before libc has set it up.
#pragma once

namespace lockswap {

// As `environ`: ends with a nullptr. nullptr: not to be found.
char** environment() noexcept;

// A variable that is set to nothing counts as not set: nullptr.
const char* environment_value(const char* name) noexcept;

}  // namespace lockswap
