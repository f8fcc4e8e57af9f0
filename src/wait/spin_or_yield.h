// The wait policies `spin` and `yield` as one type: they differ only in the pause between two
// polls, and a process has one wait policy. So the library has one copy of each lock for both.
#pragma once

#include "platform/pause.h"
#include "wait/spin.h"

namespace lockswap {

struct ChosenPause {
  static Pause pause() noexcept { return chosen; }
  static inline constinit Pause chosen = Pause::spin;  // set before the first wait
};
template <Platform P>
using SpinOrYield = Busy<P, ChosenPause>;

}  // namespace lockswap
