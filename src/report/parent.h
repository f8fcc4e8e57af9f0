// The process above this one, as /proc shows it: a shell, a shim or a script that started it.
#pragma once

namespace lockswap {

// Returns whether it was started with the variable `name`, which ends in '='. False also where it
// cannot be seen. Not for two threads at once.
bool parent_began_with(const char* name) noexcept;
bool parent_is_dash() noexcept;

}  // namespace lockswap
