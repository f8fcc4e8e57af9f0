// A thread's pending counts of events at eventual locks and at lanes, which the contract passes on
// to the statistics (posix/count_waits.h). Only slow paths have such events.
#pragma once

#include <cstdint>

namespace lockswap {

struct WaitEvents {
  std::uint32_t hand_offs;  // times that it got a lock which was reserved for it
  std::uint32_t phases;     // releases of it that began a phase of readers
  std::uint32_t backoffs;   // times that it backed off because contention is throttled
};

}  // namespace lockswap
