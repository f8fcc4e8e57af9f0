// Finds libraries that replace locks or the clock themselves and are in the wrong order with this
// one: a lock profiler, a sanitizer, libfaketime. Then either their functions or ours are never
// called.
#pragma once

namespace lockswap {

struct Swapped {
  bool rwlocks;
  bool mutexes;
  bool conds;  // condition variables
  bool any() const noexcept { return rwlocks || mutexes || conds; }
};

// Called at start-up. Prints one line on stderr if there is such a library. Libraries that dlopen
// loads later are not checked, but they call through this one.
void warn_of_load_order(Swapped swapped) noexcept;

}  // namespace lockswap
