// A request for a range, and its options; the same for every range lock.
#pragma once

#include <cstdint>

#include "platform/clock.h"

namespace lockswap {

// start < end.
struct RangeRequest {
  std::uint64_t start;
  std::uint64_t end;
  bool shared;
  bool only_try;
  const Deadline* deadline;  // nullptr for none
};

struct RangeOptions {
  bool fair;
  bool writers_first;
};

// The number of ranges that a thread holds, in all range locks.
struct RangesHeld {
  std::uint32_t count = 0;
};

}  // namespace lockswap
