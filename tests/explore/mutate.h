// lockswap-explore mutate: plants the seeded faults, or weakens each memory order in turn.
#pragma once

#include "script.h"

namespace lockswap::explore {

extern const char* const kMutateUsage;

// argv as main got it; returns the exit status.
int mutate(const Cases& cases, int argc, char** argv);

}  // namespace lockswap::explore
