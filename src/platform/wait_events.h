// What a thread did at eventual locks and at lanes, until the contract counts it
// (posix/count_waits.h). Only slow paths do such things.
#pragma once

#include <cstdint>

namespace lockswap {

struct WaitEvents {
  std::uint32_t hand_offs;  // it got a lock that was reserved for it
  std::uint32_t phases;     // its releases that began a phase of readers
  std::uint32_t backoffs;   // it backed off, because contention is throttled
};

}  // namespace lockswap
