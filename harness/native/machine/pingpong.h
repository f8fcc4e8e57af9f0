// How long a cache line takes from one processor to another.
#pragma once

#include <optional>

#include "timing.h"

namespace lockswap::measure {

// One way of a compare-exchange that two threads, one on each processor, send back and forth. It
// takes about `budget_ns`, and longer only if that is too short for a few exchanges. Returns
// nothing if a thread cannot be pinned.
std::optional<Spread> ping_pong(int one, int other, double budget_ns);

}  // namespace lockswap::measure
