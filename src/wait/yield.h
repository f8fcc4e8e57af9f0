// Wait policy `yield`: polls, and yields the processor between two polls.
#pragma once

#include "wait/spin.h"

namespace lockswap {

template <Platform P>
using Yield = Busy<P, Always<Pause::yield>>;

}  // namespace lockswap
