// When threads waited for locks: waiting by the time of day, as a fixed number of slots each. When
// the run becomes longer than they reach, slots are added in pairs and are twice as wide: so a run
// of any length has room, with what was long ago as fine as what is new.
#pragma once

#include <algorithm>
#include <cstdint>

#include "profile/record.h"

namespace lockswap::profile {

// Adds up a wait, from `begin` to `end` in ns since the process began. The one thread alone writes.
// A process that is killed while slots are added leaves that thread's slots wrong.
inline void add_wait(Timeline& line, std::uint64_t begin, std::uint64_t end) noexcept {
  constexpr std::uint32_t kWidest = 56;  // some two years a slot: only a torn counter comes there
  while (end >> line.shift >= Timeline::kSlots) {
    if (line.shift == kWidest) return;
    for (std::uint32_t i = 0; i < Timeline::kSlots; ++i) {
      line.ns[i] = i < Timeline::kSlots / 2 ? line.ns[std::size_t{2} * i] + line.ns[2 * i + 1] : 0;
    }
    ++line.shift;
  }
  while (begin < end) {
    const std::uint64_t slot = begin >> line.shift;
    const std::uint64_t next = std::min(end, (slot + 1) << line.shift);
    line.ns[slot] += next - begin;
    begin = next;
  }
}

}  // namespace lockswap::profile
