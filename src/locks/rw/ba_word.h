// The word of a BA lock (ba.h): the paper's rin, the number of the phase, and flags of those that
// wait and leave.
//
//   bit 0       kPresent: PRES, a writer has its turn
//   bit 1       kQueued: while PRES: readers wait in the list
//   bit 2       kLeaving: while PRES: the writer empties the list, and goes
//   bit 3       kSleepers: while PRES: somebody sleeps on the word
//   bits 4..31  the phase's number
//   bits 32..   how many readers have arrived
//
// A phase is its number and PRES (kPhase). So a word without PRES is in no phase, and a phase that
// a reader remembers is never 0.
#pragma once

#include <cstdint>

namespace lockswap {

struct BaWord {
  static constexpr std::uint64_t kPresent = 1;
  static constexpr std::uint64_t kQueued = 2;
  static constexpr std::uint64_t kLeaving = 4;
  static constexpr std::uint64_t kSleepers = 8;
  static constexpr std::uint64_t kOnePhase = 16;
  static constexpr std::uint64_t kReader = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kArrived = ~(kReader - 1);
  static constexpr std::uint64_t kPhaseNumber = (kReader - 1) & ~(kOnePhase - 1);
  static constexpr std::uint64_t kPhase = kPhaseNumber | kPresent;

  static constexpr std::uint32_t kChannel = 1;  // of those that sleep on the word

  static bool is_free(std::uint64_t v) noexcept { return (v & kPresent) == 0; }
  static std::uint32_t phase_of(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v & kPhase);
  }
  static bool is_over(std::uint64_t v, std::uint32_t phase) noexcept {
    return (v & kPhase) != phase;
  }
  static std::uint32_t arrived(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> 32);
  }
};

}  // namespace lockswap
