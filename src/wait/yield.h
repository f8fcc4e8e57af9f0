// Wait policy `yield`: polls, and yields the processor in between.
#pragma once

#include "wait/spin.h"

namespace lockswap {

template <Platform P>
using Yield = Busy<P, Always<Pause::yield>>;

}  // namespace lockswap
