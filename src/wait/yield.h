// Wait policy `yield`: looks again, and gives the processor away in between.
#pragma once

#include "wait/spin.h"

namespace lockswap {

template <Platform P>
using Yield = Busy<P, Always<Pause::yield>>;

}  // namespace lockswap
