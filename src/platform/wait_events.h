// What a thread did at eventual locks and lanes, until the contract counts it
// (posix/count_line.h). In slow stages alone.
#pragma once

#include <cstdint>

namespace lockswap {

struct LineEvents {
  std::uint32_t hand_offs;  // it got a lock that was kept for it
  std::uint32_t phases;     // it released a lock to readers that wait, before any writer
  std::uint32_t naps;       // it left a taken lock to a thread that runs alone
};

}  // namespace lockswap
