// An acquisition's request for a range, and its options; the same for every range lock.
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
  const Deadline* deadline;  // nullptr means for ever
};

struct RangeOptions {
  bool fair;
  bool writers_first;
};

// The ranges that a thread holds, of all range locks.
struct RangesHeld {
  std::uint32_t count = 0;
};

}  // namespace lockswap
