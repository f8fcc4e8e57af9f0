// What the kernel's scheduler takes: to wake a thread, to switch to another one, to take turns.
#pragma once

#include "costs.h"

namespace lockswap::measure {

// Empty if the kernel lets no thread run on one of the two, or if they are the same: then nothing
// can be woken elsewhere.
Costs scheduling(int processor, int other);

}  // namespace lockswap::measure
