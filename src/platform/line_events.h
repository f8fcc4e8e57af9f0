// What a thread did at locks that ration hand-offs, until the contract counts it
// (posix/count_line.h). In slow stages alone.
#pragma once

#include <cstdint>

namespace lockswap {

struct LineEvents {
  std::uint32_t hand_offs;  // it got a lock that was kept for it
  std::uint32_t phases;     // it released a lock to readers that wait, before any writer
};

}  // namespace lockswap
