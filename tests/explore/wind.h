// A lock that was used very often before a script begins: its counters and tickets are about to
// wrap around, or to leave the range of a signed or a shorter number.
#pragma once

#include <cstdint>
#include <vector>

#include "under_test.h"

namespace lockswap::explore {

// What the lock's atoms are after so many acquisitions for writing and for reading, and after so
// many locks have begun at its place. For machine.presets.
//
// Nothing of the lock is known: what a few acquisitions change is measured, and that change is
// repeated, but never past a multiple of 2^24, where a counter may have its end. There, the
// acquisitions are made.
std::vector<Machine::Preset> wind(LockUnderTest& lock, std::uint64_t writes, std::uint64_t reads,
                                  std::uint64_t locks);
// Whether acquisitions change anything that stays.
bool counts_acquisitions(LockUnderTest& lock);
// After so many acquisitions the next ones use up a set of channels, which has 32 bits. A lock may
// use some of them for other sleepers.
inline constexpr std::uint64_t kChannelsBefore = 26;

}  // namespace lockswap::explore
