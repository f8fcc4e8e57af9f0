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
  static constexpr Value kPhase = 1u << 11;        // the readers that wait come before any writer
  static constexpr Value kDemand = 1u << 12;       // one of them has waited for its time
  static constexpr Value kGateCalled = 1u << 13;   // they were called, and none has looked
  static constexpr Value kGateCalling = 1u << 14;  // the writer that is in is calling them
  static constexpr Value kWaiter = 1u << 15;
  static constexpr Value kWaitingReader = 1u << 27;
  static constexpr Value kWaiters = kWaitingReader - kWaiter;
  // Above the half that the front sleeps on: readers that come and go are no change there. Many
  // bits, since a program may acquire read holds in one thread and release them in another, later.
  static constexpr Value kReader = Value{1} << 41;
  static constexpr Value kWaitingReaders = kReader - kWaitingReader;
  static constexpr Value kReaders = ~(kReader - 1);
  static constexpr Value kOfWaiting = kPhase | kDemand | kGateCalled;
  static constexpr bool kLeavesToOne = true;
  template <Platform P>
  struct More {
    typename P::template atomic<std::uint32_t> handed_off{}, gate{}, level{};
  };
};

// What readers find in a word.
template <Platform P>
struct EventualReaders {
  using Flags = EventualFlags<P, EventualRwWord>;
  using Word = EventualRwWord;
  using Value = Word::Value;

  static bool may_come_in(Value v) noexcept {
    return (v & Flags::kLocked) == 0 && ((v & Flags::kHandOff) == 0 || (v & Word::kPhase) != 0);
  }
  // One waiting reader less. It has looked, so the next release may call again.
  static Value without_waiting(Value v) noexcept {
    constexpr Value kOfAll = Word::kOfWaiting | Flags::kDoubts;
    v = (v - Word::kWaitingReader) & ~Word::kGateCalled;
    return (v & Word::kWaitingReaders) != 0 ? v : v & ~kOfAll;
  }
};

// The attempt of a reader that waits: how often its patience has passed, and one; above that the
// level at which it began to wait.
struct EventualAttempt {
  static std::uint32_t begin(std::uint32_t level) noexcept { return level << kLevelShift | 1; }
  static std::uint32_t again(std::uint32_t attempt) noexcept {
    return periods(attempt) < kMostPeriods ? attempt + 1 : attempt;
  }
  static std::uint32_t periods(std::uint32_t attempt) noexcept {
    return (attempt & ((1u << kLevelShift) - 1)) - 1;
  }
  // Where no reader is in, the front may be stopped: no level counts then.
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
