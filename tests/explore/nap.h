// The word `nap` of scripts: the thread sleeps until no other one can go on.
#pragma once

#include "multicore/explore/platform.h"

namespace lockswap::explore {

// Nobody wakes it where it sleeps: its patience with that ends it.
inline void nap(const ExploredAtomic<std::uint32_t>& nowhere) {
  Deadline never = *machine.deadline(Machine::When::far);
  never.patience = 1;
  machine.note("naps ...");
  while (Explored::park(nowhere, 0, kNobodysChannel, &never) != Parked::timed_out) {}
  machine.note("... until nobody goes on");
}

}  // namespace lockswap::explore
