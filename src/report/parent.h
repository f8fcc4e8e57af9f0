// The process that started this one, by /proc: a shell, a shim or a script.
#pragma once

namespace lockswap {

// Returns whether it was started with the variable `name`, which ends in '='. Returns false if that
// can't be found out. Not thread-safe.
bool parent_began_with(const char* name) noexcept;
bool parent_is_dash() noexcept;

}  // namespace lockswap
