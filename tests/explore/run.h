// lockswap-explore run and replay.
#pragma once

#include "script.h"

namespace lockswap::explore {

extern const char* const kRunUsage;

// argv as main got it; each returns the exit status.
int run(const Cases& cases, int argc, char** argv);
int replay(const Cases& cases, int argc, char** argv);

}  // namespace lockswap::explore
