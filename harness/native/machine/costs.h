// What single operations cost where no other processor takes part.
#pragma once

#include <utility>
#include <vector>

#include "timing.h"

namespace lockswap::measure {

using Costs = std::vector<std::pair<const char*, Spread>>;

// Atomic operations on a line that the calling thread's processor owns, and a look at the clock.
Costs own_costs();

// An acquisition and its release of pthread locks that nobody else wants: read, write, mutex. Which
// locks these are is up to what is preloaded.
Costs uncontended_pairs();

}  // namespace lockswap::measure
