// Live stretches: the parts of a run in which all threads made progress.
//
// On a shared machine a virtual processor is taken away now and then, and a "two-thread" average
// over such a time is a one-thread figure. So each thread notes now and then how far it is; a step
// that took 20 times the median of all steps is a gap, and what is left of the common time when the
// gaps of all threads are cut out is live. A thread that waits so long for the lock makes a gap
// too.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

struct Stamp {
  std::uint64_t at;    // ticks
  std::uint64_t done;  // the thread's operations so far
};

// In rising order of `at`.
using Stamps = std::vector<Stamp>;

struct Live {
  double ticks_per_operation;  // of one thread; 0: nothing was live
  double kept;                 // share of the common time that was live
};

inline constexpr double kGapFactor = 20;

// `threads`: the stamps of each thread. Reads them only; costs a sort of all steps.
Live live_windows(const std::vector<const Stamps*>& threads, double gap_factor = kGapFactor);

}  // namespace bench
