// The state of the rwlock `eventual` (eventual.h): the bits of its word, and what a reader that
// waits remembers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "locks/common/eventual_word.h"
#include "platform/concept.h"

namespace lockswap {

struct EventualRwWord {
  using Value = std::uint64_t;
  static constexpr Value kPhase = 1u << 11;           // waiting readers come before any writer
  static constexpr Value kPhaseRequested = 1u << 12;  // by a reader that has waited for long enough
  static constexpr Value kReadersWoken = 1u << 13;    // readers were woken, and none has rechecked
  static constexpr Value kWakesReaders = 1u << 14;    // the writer is about to wake readers
  static constexpr Value kWaiter = 1u << 15;
  static constexpr Value kWaitingReader = 1u << 27;
  static constexpr Value kWaiters = kWaitingReader - kWaiter;
  // In the half of the word that the head waiter doesn't sleep on, so that readers which come and
  // go don't change that one. There are many bits, because a program may acquire read holds in one
  // thread and release them in another one much later.
  static constexpr Value kReader = Value{1} << 41;
  static constexpr Value kWaitingReaders = kReader - kWaitingReader;
  static constexpr Value kReaders = ~(kReader - 1);
  static constexpr Value kOfWaitingReaders = kPhase | kPhaseRequested | kReadersWoken;
  static constexpr bool kThrottles = true;
  template <Platform P>
  struct More {
    typename P::template atomic<std::uint32_t> handed_off{}, reader_wakes{}, level{};
  };
};

// The meaning of the word for readers.
template <Platform P>
struct EventualRwFlags : EventualFlags<P, EventualRwWord> {
  using Flags = EventualFlags<P, EventualRwWord>;
  using Word = EventualRwWord;
  using Value = Word::Value;

  static bool can_enter(Value v) noexcept {
    return (v & Flags::kLocked) == 0 && ((v & Flags::kHandOff) == 0 || (v & Word::kPhase) != 0);
  }
  // Returns the word with one waiting reader less. That reader has rechecked, so the next release
  // may wake readers again.
  static Value without_waiting(Value v) noexcept {
    constexpr Value kOfAll = Word::kOfWaitingReaders | Flags::kFailedTries;
    v = (v - Word::kWaitingReader) & ~Word::kReadersWoken;
    return (v & Word::kWaitingReaders) != 0 ? v : v & ~kOfAll;
  }
  // Returns whether a writer that releases the lock has to wake the waiting readers: for a phase
  // that was requested, or because the lock will be free.
  static bool must_wake_readers(Value v) noexcept {
    if ((v & Word::kWaitingReaders) == 0) return false;
    return (v & Word::kPhaseRequested) != 0 || (v & (Flags::kHandOff | Word::kReadersWoken)) == 0;
  }
  // The word once readers are being woken.
  static Value with_readers_woken(Value v) noexcept {
    const bool begins_phase = (v & Word::kPhaseRequested) != 0;
    return begins_phase ? (v & ~Word::kPhaseRequested) | Word::kPhase : v | Word::kReadersWoken;
  }
};

// What a waiting reader remembers, in one number: how often its patience has run out, plus one, and
// in the bits above that the level at which it began to wait.
struct EventualAttempt {
  static std::uint32_t begin(std::uint32_t level) noexcept { return level << kLevelShift | 1; }
  static std::uint32_t again(std::uint32_t attempt) noexcept {
    return periods(attempt) < kMostPeriods ? attempt + 1 : attempt;
  }
  static std::uint32_t periods(std::uint32_t attempt) noexcept {
    return (attempt & ((1u << kLevelShift) - 1)) - 1;
  }
  // If no reader holds it, the lock stays reserved although it is free, so the head waiter may be
  // preempted. Then the level doesn't count.
  static bool is_impatient(std::uint32_t attempt, bool beside_readers) noexcept {
    return periods(attempt) >= 1u << (beside_readers ? attempt >> kLevelShift : 0);
  }
  static std::uint32_t next_level(std::uint32_t attempt) noexcept {
    return std::min((attempt >> kLevelShift) + 1, kMostLevel);
  }

 private:
  static constexpr int kLevelShift = 16;
  static constexpr std::uint32_t kMostLevel = 12;
  static constexpr std::uint32_t kMostPeriods = 1u << kMostLevel;
};

}  // namespace lockswap
