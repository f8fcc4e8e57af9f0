// The word of a BA lock (ba.h): the paper's rin (arrivals), the number of the phase, and flags for
// waiting and leaving threads.
//
//   bit 0       kPresent: PRES, the writer at the head of the queue has its turn
//   bit 1       kQueued: in a phase: readers wait in the list
//   bit 2       kLeaving: in a phase: the writer empties the list, and is about to leave
//   bit 3       kSleepers: in a phase: a thread sleeps on the word
//   bit 4       kDirect: a writer that is not in the queue holds the lock
//   bits 5..31  the phase's number
//   bits 32..   how many readers have arrived
//
// The word is in a phase while PRES or kDirect is set. If both are, it is the direct writer's
// phase: the head of the queue was too late, and begins another phase when that one is over. A
// reader remembers the number of its phase together with PRES, so that what it remembers is never
// 0.
#pragma once

#include <cstdint>

namespace lockswap {

struct BaWord {
  static constexpr std::uint64_t kPresent = 1;
  static constexpr std::uint64_t kQueued = 2;
  static constexpr std::uint64_t kLeaving = 4;
  static constexpr std::uint64_t kSleepers = 8;
  static constexpr std::uint64_t kDirect = 16;
  static constexpr std::uint64_t kOnePhase = 32;
  static constexpr std::uint64_t kReader = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kArrived = ~(kReader - 1);
  static constexpr std::uint64_t kPhaseNumber = (kReader - 1) & ~(kOnePhase - 1);
  // The flags that waiting threads, or the writer on their account, set during a phase.
  static constexpr std::uint64_t kOfWaiting = kQueued | kLeaving | kSleepers;

  static constexpr std::uint32_t kChannel = 1;  // for threads that sleep on the word

  static bool is_free(std::uint64_t v) noexcept { return (v & (kPresent | kDirect)) == 0; }
  static bool is_direct(std::uint64_t v) noexcept { return (v & kDirect) != 0; }
  // Returns whether the head of the queue may set PRES.
  static bool is_absent(std::uint64_t v) noexcept { return (v & kPresent) == 0; }
  // The word's current phase.
  static std::uint32_t phase_of(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>((v & kPhaseNumber) | kPresent);
  }
  static bool is_over(std::uint64_t v, std::uint32_t phase) noexcept {
    return is_free(v) || phase_of(v) != phase;
  }
  // The word after the current phase, if no waiting thread has to be woken.
  static std::uint64_t after_phase(std::uint64_t v) noexcept {
    return (v & kArrived) | ((v + kOnePhase) & kPhaseNumber);
  }
  // The bits that change when the turn passes from one queued writer to the next.
  static std::uint64_t turn_of(std::uint64_t v) noexcept { return v & (kPhaseNumber | kPresent); }
  static std::uint32_t arrived(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> 32);
  }
};

}  // namespace lockswap
