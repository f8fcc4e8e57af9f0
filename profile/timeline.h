// When threads waited for locks: waiting time by wall-clock time, in a fixed number of slots. When
// the run becomes longer than they cover, pairs of slots are merged, so slots are twice as wide. So
// a run of any length fits, and its beginning has the same resolution as its end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "profile/record.h"

namespace lockswap::profile {

// Adds a wait from `begin` to `end`, in ns since the process began. Only one thread writes. If a
// process is killed while slots are merged, that thread's slots are wrong.
inline void add_wait(Timeline& line, std::uint64_t begin, std::uint64_t end) noexcept {
  constexpr std::uint32_t kWidest = 56;  // about two years a slot, which only a torn value reaches
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
