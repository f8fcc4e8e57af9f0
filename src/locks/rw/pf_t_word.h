// The word of a PF-T lock (pf-t.h): the paper's rin and wout in one, and flags of sleepers.
//
//   bit 0       kTrying: a writer in a trylock has its turn, and checks for readers elsewhere. A
//               reader that meets this bit there falls back to this lock, and gets it
//   bit 1       kPresent: PRES, a writer has its turn
//   bit 2       kReadersSleep: a reader sleeps until the phase is over
//   bit 3       kWritersSleep: a writer sleeps until its turn
//   bits 4..7   the enclosing lock's (PfTUser)
//   bits 8..31  wout: the ticket whose turn it is, i.e. the number of past writers modulo 2^24
//   bits 32..   rin: how many readers have arrived
//
// A phase is the pair of its ticket and PRES (kPhase). So a word without PRES is in no phase, and a
// phase that a reader remembers is never 0.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"

namespace lockswap {

// What a lock built on PF-T requires of it.
template <class User>
concept PfTUser = requires {
  // The bits of the word, among 0xf0, that belong to that lock. PF-T preserves them.
  requires std::same_as<decltype(User::kUserBits), const std::uint64_t>;
  requires(User::kUserBits & ~std::uint64_t{0xf0}) == 0;
  // The order of the RMW by which a writer announces itself.
  requires std::same_as<decltype(User::kAnnounce), const Order>;
};

// PF-T by itself. relaxed: the writer waits at rout for earlier readers, later readers need none of
// its data, and its turn has synchronised it with earlier writers.
struct PfTAlone {
  static constexpr std::uint64_t kUserBits = 0;
  static constexpr Order kAnnounce = relaxed;
};

struct PfTWord {
  static constexpr std::uint64_t kTrying = 1;
  static constexpr std::uint64_t kPresent = 2;
  static constexpr std::uint64_t kReadersSleep = 4;
  static constexpr std::uint64_t kWritersSleep = 8;
  static constexpr int kTurnShift = 8;
  static constexpr std::uint64_t kTicketMask = (1u << 24) - 1;
  static constexpr std::uint64_t kPhase = kTicketMask << kTurnShift | kPresent;
  static constexpr std::uint64_t kReader = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kArrived = ~(kReader - 1);

  // Channels of the futex on the word's low half, so that a release wakes all readers and one
  // writer.
  static constexpr std::uint32_t kReadersChannel = 1u << 0;
  static constexpr std::uint32_t kTimedWritersChannel = 1u << 1;
  static std::uint32_t channel_of(std::uint32_t ticket) noexcept { return 8u << ticket % 29; }

  static bool is_free(std::uint64_t v) noexcept { return (v & kPresent) == 0; }
  static std::uint32_t arrived(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> 32);
  }
  static std::uint32_t phase_of(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v & kPhase);
  }
  static bool is_over(std::uint64_t v, std::uint32_t phase) noexcept {
    return (v & kPhase) != phase;
  }
  // v: the word, or a phase.
  static std::uint32_t turn(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> kTurnShift) & kTicketMask;
  }
  static std::uint32_t phase_of_turn(std::uint32_t turn) noexcept {
    return turn << kTurnShift | static_cast<std::uint32_t>(kPresent);
  }
};

}  // namespace lockswap
