// The word of an eventual lock: what the bits mean that the line and its front have there
// (eventual_line.h, which also has the idea).
#pragma once

#include <algorithm>
#include <concepts>

#include "platform/concept.h"

namespace lockswap {

// What a lock has in its word beside the line's flags.
// All state is in one class, so that its bytes are where the layout of the object has them.
template <class L>
concept EventualWord = requires {
  typename L::Value;
  // The lowest bit of the number of waiters, and all of it.
  requires std::same_as<decltype(L::kWaiter), const typename L::Value>;
  requires std::same_as<decltype(L::kWaiters), const typename L::Value>;
  // The readers that are in.
  requires std::same_as<decltype(L::kReaders), const typename L::Value>;
  // Waiting readers come first: neither a writer nor the front may take the lock.
  requires std::same_as<decltype(L::kPhase), const typename L::Value>;
  // Threads may leave the lock to one of them (platform/one_at_a_time.h): a release is what counts.
  requires std::same_as<decltype(L::kLeavesToOne), const bool>;
  // And a class template over the platform, `More`: state beside the word and `calls`. With
  // readers it has `handed_off`, the time of the last hand-off (eventual_front.h), 0: none was.
};

template <Platform P, EventualWord Layout>
struct EventualFlags {
  using Value = typename Layout::Value;

  static constexpr Value kLocked = 1;       // held by a writer
  static constexpr Value kFront = 2;        // there is a front
  static constexpr Value kHandOff = 4;      // the lock is the front's as soon as it is not busy
  static constexpr Value kFrontSleeps = 8;  // the front wants to be woken by the next release
  static constexpr Value kCalled = 16;      // a thread of the line was called, and has not looked
  static constexpr Value kDoubt = 32;       // a try has found the lock kept
  static constexpr Value kDoubts = 15 * kDoubt;
  static constexpr Value kUrgent = 512;   // a thread with a real-time policy sleeps on the word
  static constexpr Value kCounts = 1024;  // releases are counted (platform/one_at_a_time.h)
  static constexpr Value kLineFlags = 0x7ff;
  static constexpr Value kMostDoubts = std::min<Value>(15, P::kMostInARow) * kDoubt;
  static constexpr Value kWaiter = Layout::kWaiter, kWaiters = Layout::kWaiters;
  static constexpr Value kBusy = kLocked | Layout::kReaders;
  static constexpr Value kShut = kBusy | kHandOff | Layout::kPhase;  // to all but the front
  static constexpr Value kSleeps = kFrontSleeps | kUrgent;
  static constexpr Value kFronts = kFront | kHandOff | kFrontSleeps | kDoubts;
  static_assert(((kWaiters | Layout::kReaders | Layout::kPhase) & kLineFlags) == 0);

  static bool is_open(Value v) noexcept { return (v & kShut) == 0; }
  // The front may take it.
  static bool is_fronts(Value v) noexcept { return (v & (kBusy | Layout::kPhase)) == 0; }
  // Those of the invariants that one look at the word can show; for P::check. ends_phases: the
  // front, which is awake, may have ended a phase.
  static bool is_sound(Value v, bool ends_phases) noexcept {
    const bool sleeps_on = is_fronts(v) && (v & kSleeps) != 0 && !ends_phases;
    const bool kept_for_nobody = (v & kHandOff) != 0 && (v & kFront) == 0;
    const bool called_nobody = (v & kCalled) != 0 && (v & kWaiters) == 0;
    const bool forgotten = is_open(v) && must_call(v);
    return !(sleeps_on || kept_for_nobody || called_nobody || forgotten) && are_readers_sound(v);
  }
  static bool are_readers_sound([[maybe_unused]] Value v) noexcept {
    if constexpr (Layout::kReaders != 0) {
      const bool both_in = (v & kLocked) != 0 && (v & Layout::kReaders) != 0;
      const bool in_phase = (v & kLocked) != 0 && (v & Layout::kPhase) != 0;
      const bool for_nobody = (v & Layout::kWaitingReaders) == 0 && (v & Layout::kOfWaiting) != 0;
      return !(both_in || in_phase || for_nobody);
    }
    return true;
  }
  // Of a lock that is about to be free: somebody waits, and nobody is about to look.
  static bool must_call(Value v) noexcept {
    return (v & kWaiters) != 0 && (v & (kFront | kCalled)) == 0;
  }
};

}  // namespace lockswap
