// The state word of an eventual lock. Read this first: the idea, the states, and how the other
// files divide the work.
//
// Sources: eventual fairness is as in WebKit's WTF::Lock and Rust's parking_lot, whose 0.5 ms is
//   the default here. The designated waker and the layout of the word are as in M. Burrows' nsync,
//   and the hand-off bit that a waiter sets is as in Linux's rwsem. None of their code is used.
// Idea: a thread that finds the lock free takes it, even if others wait (barging). One waiter, the
//   head waiter, is next: releases wake only that one, and it keeps its place if it is woken in
//   vain. The others sleep in the wait queue. A head waiter that hasn't got the lock within
//   LOCKSWAP_HANDOVER_US requests a hand-off: from then on a released lock is reserved for it. So
//   bypassing is bounded, hand-offs are rare, and a release never reads a clock.
// Files: eventual_queue.h has the wait queue and the release, eventual_head.h the head waiter,
//   eventual_lock.h the mutex, rw/eventual.h and rw/eventual_readers.h the reader-writer lock.
// States of a mutex. "Head": kHasHead; "hand-off": kHandOff; "queue": kWaiters isn't 0; "-" either.
//   With readers "locked" also means that readers hold the lock; rw/eventual.h has what they add.
//
//      state                   locked head hand-off queue  who leaves it, and how
//   1  free                       0    0     0        0    any thread locks it: 2
//   2  locked                     1    0     0        0    the holder releases it: 1; the first
//                                                          thread to wait becomes the head: 3
//   3  locked, head waits         1    1     0        -    the holder releases it and wakes the
//                                                          head: 4; the head requests a hand-off:
//                                                          5; or times out: 2 or 7
//   4  free, head awake           0    1     0        -    the head locks it: 2 or 7; or another
//                                                          thread, which is faster: 3
//   5  locked, hand-off           1    1     1        -    the holder releases it and wakes the
//      requested                                           head: 6; the head times out: 2 or 7
//   6  reserved                   0    1     1        -    the head locks it: 2 or 7; after the
//                                                          hand-off timeout a queued thread or a
//                                                          try does: 3
//   7  locked, no head            1    0     0        1    the holder releases it and wakes a
//                                                          queued thread (kWaking): 8; one that
//                                                          is awake becomes the head: 3
//   8  free, queued thread        0    0     0        1    that thread, or a faster one, locks
//      awake                                               it: 2 or 7
//   After a hand-off the new holder of 7 wakes a queued thread at once, so that the next head is
//   ready when the lock is released. A real-time waiter takes the lock in 4, 6 and 8 as well.
//
// Hand-off timeout: the head may have been preempted or stopped. A reserved lock belongs to nobody
//   until the head claims it, so others may take it after P::take_back(). These are queued threads,
//   which recheck at growing intervals and find it reserved twice in a row, and trylocks, once
//   enough of them have failed (kFailedTries).
// Invariants: kHeadSleeps and kRealTime are clear while the head waiter may take the lock, except
//   for a moment after the head itself has ended a phase of readers. kHandOff implies kHasHead.
//   kWaking implies a non-empty queue. At most one queued thread and one sleeper on the word are
//   being woken: kWaking is set until a queued thread has rechecked, and kSleepers stays clear
//   until the woken sleeper has. (A queued thread that hadn't fallen asleep yet may recheck in
//   place of the one that was woken, whose wake-up is then superfluous.) While the lock is free
//   and threads wait, a thread is being woken, or the head waiter is awake or backing off. A thread
//   that loads `wakes` before it counts itself, or before it rechecks, misses no wake-up.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// What a lock adds to the flags of this file.
template <class L>
concept EventualWord = requires {
  typename L::Value;
  // The lowest bit of the number of queued threads, and all of its bits.
  requires std::same_as<decltype(L::kWaiter), const typename L::Value>;
  requires std::same_as<decltype(L::kWaiters), const typename L::Value>;
  // The readers that hold the lock.
  requires std::same_as<decltype(L::kReaders), const typename L::Value>;
  // Waiting readers come first: neither a writer nor the head waiter may take the lock.
  requires std::same_as<decltype(L::kPhase), const typename L::Value>;
  // Whether contention may be throttled (platform/adaptive/contention_throttle.h), which counts
  // releases.
  requires std::same_as<decltype(L::kThrottles), const bool>;
  // And a class template over the platform, `More`: state in addition to the word and `wakes`. With
  // readers it has `handed_off`, the time of the last hand-off (eventual_head.h), or 0.
};

// The word: these flags, and what the lock adds.
template <Platform P, EventualWord Layout>
struct EventualFlags : Layout {
  using Value = typename Layout::Value;

  static constexpr Value kLocked = 1;      // by a writer
  static constexpr Value kHasHead = 2;     // there is a head waiter
  static constexpr Value kHandOff = 4;     // the head waiter has requested a hand-off
  static constexpr Value kHeadSleeps = 8;  // the next release has to wake the head waiter
  static constexpr Value kWaking = 16;     // a queued thread is being woken, and hasn't rechecked
  static constexpr Value kFailedTry = 32;  // a trylock has found the lock reserved
  static constexpr Value kFailedTries = 15 * kFailedTry;
  static constexpr Value kRealTime = 512;  // a waiter with a real-time policy sleeps on the word
  // Releases are counted (platform/adaptive/contention_throttle.h).
  static constexpr Value kCounts = 1024;
  static constexpr Value kQueueFlags = 0x7ff;
  static constexpr Value kMostFailedTries = std::min<Value>(15, P::kMostInARow) * kFailedTry;
  static constexpr Value kWaiter = Layout::kWaiter, kWaiters = Layout::kWaiters;
  static constexpr Value kBusy = kLocked | Layout::kReaders;
  static constexpr Value kNotFree = kBusy | kHandOff | Layout::kPhase;
  static constexpr Value kSleepers = kHeadSleeps | kRealTime;  // threads that sleep on the word
  static constexpr Value kOfHead = kHasHead | kHandOff | kHeadSleeps | kFailedTries;
  static_assert(((kWaiters | Layout::kReaders | Layout::kPhase) & kQueueFlags) == 0);

  // Any thread may take the lock.
  static bool is_free(Value v) noexcept { return (v & kNotFree) == 0; }
  // The head waiter may take it: it is free or reserved.
  static bool head_may_take(Value v) noexcept { return (v & (kBusy | Layout::kPhase)) == 0; }
  // A release has to wake a queued thread: nobody else would take the lock.
  static bool needs_waker(Value v) noexcept {
    return (v & kWaiters) != 0 && (v & (kHasHead | kWaking)) == 0;
  }

  // For P::check: the invariants that a single value of the word can show. ends_phases: the head
  // waiter, which is awake, may have ended a phase of readers.
  static bool is_sound(Value v, bool ends_phases) noexcept {
    const bool sleeps_on = head_may_take(v) && (v & kSleepers) != 0 && !ends_phases;
    const bool reserved_for_nobody = (v & kHandOff) != 0 && (v & kHasHead) == 0;
    const bool wakes_nobody = (v & kWaking) != 0 && (v & kWaiters) == 0;
    const bool forgotten = is_free(v) && needs_waker(v);
    return !(sleeps_on || reserved_for_nobody || wakes_nobody || forgotten) && are_readers_sound(v);
  }
  static bool are_readers_sound([[maybe_unused]] Value v) noexcept {
    if constexpr (Layout::kReaders != 0) {
      const bool both_in = (v & kLocked) != 0 && (v & Layout::kReaders) != 0;
      const bool in_phase = (v & kLocked) != 0 && (v & Layout::kPhase) != 0;
      const bool for_nobody =
          (v & Layout::kWaitingReaders) == 0 && (v & Layout::kOfWaitingReaders) != 0;
      return !(both_in || in_phase || for_nobody);
    }
    return true;
  }
};

// All state of a lock, in the order in which the pthread object has it.
template <Platform P, EventualWord Layout>
struct EventualState {
  using Word = EventualFlags<P, Layout>;

  typename P::template atomic<typename Word::Value> word{};
  typename P::template atomic<std::uint32_t> wakes{};
  [[no_unique_address]] typename Layout::template More<P> more{};

  void check() const noexcept {
    P::check([this] {
      return Word::is_sound(word.load(relaxed), Word::kReaders != 0 && P::take_back() != 0);
    });
  }
};

}  // namespace lockswap
