// Libraries that replace locks or the clock themselves, and stand on the wrong side of this one: a
// lock profiler, a sanitizer, libfaketime. Then either theirs or ours is never called.
#pragma once

namespace lockswap {

struct Swapped {
  bool rwlocks;
  bool mutexes;
  bool conds;  // condition variables
  bool any() const noexcept { return rwlocks || mutexes || conds; }
};

// Called at start-up. Prints one line on stderr if there is such a library. What dlopen brings
// later is not seen, and is reached through this one.
void warn_of_load_order(Swapped swapped) noexcept;

}  // namespace lockswap
