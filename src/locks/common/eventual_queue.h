// The wait queue of an eventual lock, and what a release does for those that wait: the mutex
// `eventual` (mutex/eventual.h), and the writers of the rwlock `eventual` (rw/eventual.h).
// eventual_word.h has the idea, the states and the invariants.
//
// Steps of a waiter:
//   0. it backs off where one running thread alone is faster than several
//      (platform/adaptive/contention_throttle.h); and it backs off and rechecks while another
//      waiter is being woken, if the lock is seldom busy (platform/adaptive/backoff.h)
//   1. without a head waiter and a queue it becomes the head waiter. Else it counts itself into the
//      queue, and sleeps on `wakes`
//   2. when it is woken it takes the lock if that is free, else it becomes the head waiter if there
//      is none, else it sleeps again, on a channel of its own (kAgainChannel) that is woken first:
//      so it keeps its place
// Steps of a release:
//   1. if threads are queued, there is no head waiter and nobody is being woken, it sets kWaking,
//      then changes `wakes`; both before the lock is free, since afterwards the object may be gone
//   2. it frees the lock by one RMW, which also clears kHeadSleeps and kRealTime. With kCounts it
//      counts itself first, or clears kCounts
//   3. it wakes one sleeper on the word, the one with the highest priority, if a flag in 2 was set;
//      or a queued thread, if this release has set kWaking
//   4. if a woken thread has not rechecked yet, or the head waiter of a lock with readers is awake
//      and readers still hold it, it sometimes yields the processor on which that thread may wait
//      to run (platform/adaptive/yield_policy.h)
// Fairness: real-time waiters come first, in the order of their priorities, in which the kernel
//   wakes them, one for each release. A running thread may be faster, as with any lock that admits
//   barging. Queued threads become head waiters in the order in which they fell asleep, including
//   those that were woken in vain. A thread that is woken as it is about to fall asleep may go
//   before a sleeper that the same release woke, once. Each is the head waiter for
//   LOCKSWAP_HANDOVER_US at most, and then gets the lock next. A signal handler, or a recheck, puts
//   a sleeper at the end of the kernel's queue. Under spin and yield nobody sleeps, and no thread
//   is a real-time waiter: the first thread that polls is the head waiter, and gets the lock next.
// Space: no nodes. Where the count is full, a thread yields instead of joining the queue.
#pragma once

#include <algorithm>
#include <cstdint>

#include "locks/common/eventual_head.h"
#include "locks/common/eventual_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/pause.h"
#include "wait/concept.h"

namespace lockswap {

// Has no state of its own: `s`, here and below, is the lock's.
template <Platform P, LineWaitPolicy<P> W, EventualWord Layout>
class EventualQueue {
  using Head = EventualHead<P, W, Layout>;
  using Next = typename Head::Next;

 public:
  using Word = EventualFlags<P, Layout>;
  using Value = typename Word::Value;
  using State = EventualState<P, Layout>;

  // --- acquiring

  [[gnu::always_inline]] static bool take_free(State& s) noexcept {
    s.check();
    Value v = s.word.load(relaxed);  // the compare-exchange decides
    while (Word::is_free(v)) {
      // acquire: pairs with the releases: release here, the mutex's fast_unlock, and the rwlock's.
      if (s.word.compare_exchange(v, v | Word::kLocked, acquire)) [[likely]]
        return true;
    }
    return false;
  }

  static bool try_take(State& s) noexcept {
    s.check();
    Value v = s.word.load(relaxed);  // the compare-exchange decides
    while ((v & Word::kBusy) == 0) {
      if (Word::is_free(v)) {
        if (s.word.compare_exchange(v, v | Word::kLocked, acquire)) return true;  // as take_free
      } else if ((v & Word::kFailedTries) < Word::kMostFailedTries) {
        // relaxed: a failed trylock orders nothing.
        if (!P::FailedTries::should_count(&s.word) ||
            s.word.compare_exchange(v, v + Word::kFailedTry, relaxed))
          return false;
      } else if (take_reserved(s, v, v)) {
        return true;
      }
    }
    return false;
  }

  // Returns true if the lock is held, false if the deadline (nullptr for none) has passed.
  [[gnu::noinline]] static bool take_slowly(State& s, const Deadline* deadline) noexcept {
    if (const std::uint64_t time = advised_backoff(s, deadline); time != 0) back_off(s, time);
    if (spin(s, [&s] { return take_free(s); })) return true;
    if (Head::is_real_time()) return Head::wait_as_real_time(s, deadline);
    if (W::kParks && take_after_backoff(s, deadline)) return true;
    return take_place(s, deadline);
  }

  // Returns for how many nanoseconds a thread that has found the lock taken should back off before
  // it goes on, because one running thread alone gets more done than several; 0: not at all. A
  // timed call never does. The thread must not be queued yet: to others it has not arrived.
  static std::uint64_t advised_backoff(State& s, const Deadline* deadline) noexcept {
    if (!W::kParks || !Word::kThrottles || P::hand_off_after() == 0) return 0;
    if (deadline != nullptr && !has_no_time(*deadline)) return 0;
    const auto advice = P::ContentionThrottle::advise(&s.word);
    if (advice.counts) {
      Value v = s.word.load(relaxed);  // the compare-exchange decides
      // relaxed: it publishes nothing.
      while (!s.word.compare_exchange(v, v | Word::kCounts, relaxed)) {}
    }
    if (advice.sleep == 0 || Head::is_real_time()) return 0;
    return std::min<std::uint64_t>(advice.sleep, kLongestAdvised * P::hand_off_after());
  }
  static void back_off(State& s, std::uint64_t nanoseconds) noexcept {
    P::throttled();
    Head::back_off_until(s, within(nullptr, nanoseconds));
    P::ContentionThrottle::backed_off(&s.word);
  }

  // Waking a thread may take a time slice, if the kernel has put it behind a running one, and
  // nobody else is woken meanwhile: if this thread slept, its processor would be idle for that
  // long. So it backs off and rechecks, if that pays (platform/adaptive/backoff.h). It isn't queued
  // yet: to others it has not arrived.
  static bool take_after_backoff(State& s, const Deadline* deadline) noexcept {
    const Value v = s.word.load(relaxed);  // affects timing only
    const bool one_is_coming =
        (v & Word::kWaking) != 0 || (v & (Word::kHasHead | Word::kHeadSleeps)) == Word::kHasHead;
    if (!one_is_coming || P::hand_off_after() == 0 || !P::Backoff::should_sleep(&s.word))
      return false;
    Head::back_off_until(s, within(deadline, Head::first_backoff()));
    P::Backoff::learn(&s.word, (s.word.load(relaxed) & Word::kBusy) != 0);  // relaxed: as above
    return spin(s, [&s] { return take_free(s); });
  }

  // Calls `take` at intervals for as long as a thread spins before it sleeps. It polls seldom,
  // since polling takes the word's cache line from the lock's holder. Returns false if the thread
  // has to sleep.
  template <class Take>
  static bool spin(State& s, const Take& take) noexcept {
    typename P::Spins spins(&s.word);
    bool more = spins.more();
    for (std::uint32_t pauses = 1; more; pauses *= 2) {
      for (std::uint32_t i = pauses; i != 0 && more; --i, more = spins.more())
        P::relax();
      if (!take()) continue;
      spins.succeeded();
      return true;
    }
    return false;
  }

  // --- releasing

  // Releases a lock without readers. Must be called by a thread that has it.
  static void release_mutex(State& s) noexcept {
    s.check();
    Value v = s.word.load(relaxed);  // the compare-exchange decides
    const Value stays = ~(Word::kLocked | Word::kSleepers | stops_counting(s, v));
    bool designated = false;
    for (;;) {
      if (Word::needs_waker(v)) {
        designated |= Head::designate_waker(s, v);
        continue;
      }
      // release: the critical section; pairs with take_free and the like.
      if (s.word.compare_exchange(v, without_old_tries(v & stays), release)) break;
    }
    wake_next(s, v, designated);
  }

  // Clears the failed-try count if there is no head waiter: the one it was about has had the lock
  // since.
  static Value without_old_tries(Value v) noexcept {
    return (v & Word::kHasHead) != 0 ? v : v & ~Word::kFailedTries;
  }

  // Counts a release if that is requested. Returns kCounts if it is the last one to count.
  static Value stops_counting(State& s, Value v) noexcept {
    return (v & Word::kCounts) != 0 && !P::ContentionThrottle::counted(&s.word) ? Word::kCounts : 0;
  }

  // Wakes the next thread after a release that found v. `designated`: it has set kWaking. The lock
  // may be gone.
  static void wake_next(State& s, Value v, bool designated) noexcept {
    if constexpr (W::kParks) {
      // The one with the highest real-time priority, as the kernel orders them.
      if ((v & Word::kSleepers) != 0) W::wake_one(&s.word, Head::kWordChannel);
      // Without kWaking some thread has rechecked meanwhile.
      if (designated && (v & Word::kWaking) != 0) Head::wake_queued(s);
    }
  }

  // Ends a release that found v, left `next` and woke no queued thread. The lock may be gone.
  static void yield_to_woken(Value v, Value next) noexcept {
    const bool is_waking = (v & Word::kWaking) != 0;
    // Readers hold the lock, and have bypassed a head waiter that is awake.
    const bool passes = (v & (Word::kHasHead | Word::kHeadSleeps)) == Word::kHasHead &&
                        (next & Word::kReaders) != 0;
    if (!is_waking && !passes) return;
    if (P::YieldPolicy::should_yield(is_waking) && !Head::is_real_time()) P::YieldPolicy::yield();
  }

 private:
  static constexpr std::uint64_t kLongestAdvised = 4;  // in units of LOCKSWAP_HANDOVER_US

  // Takes the lock, or a place among the waiters. Returns like take_slowly.
  static bool take_place(State& s, const Deadline* deadline) noexcept {
    for (unsigned round = 0;;) {
      // Before the RMW that counts this thread: see wait_in_queue.
      // relaxed: that RMW keeps this load before it.
      const std::uint32_t wakes = s.wakes.load(relaxed);
      Value v = s.word.load(relaxed);  // the compare-exchanges decide
      if (Word::is_free(v)) {
        if (s.word.compare_exchange(v, v | Word::kLocked, acquire)) return true;  // as take_free
      } else if ((v & (Word::kHasHead | Word::kWaiters)) == 0) {
        // The lock is busy: its release finds the head waiter. acquire: pairs with take_as_head, so
        // that the time of the last hand-off is visible (rest_of_ration).
        if (s.word.compare_exchange(v, v | Word::kHasHead, acquire))
          return Head::wait_as_head(s, deadline);
      } else if ((v & Word::kWaiters) == Word::kWaiters) {
        if (Head::has_passed(deadline)) return false;
        P::step_aside(round++);
      } else {
        // release: pairs with the acquire in designate_waker, so that `wakes` was loaded before it
        // changes.
        if (s.word.compare_exchange(v, v + Word::kWaiter, release))
          return wait_in_queue(s, wakes, deadline);
      }
    }
  }

  // Takes a lock that is reserved for another thread, and not busy. The word becomes `from` plus
  // kLocked.
  static bool take_reserved(State& s, Value& v, Value from) noexcept {
    const Value next =
        (from & ~(Word::kHandOff | Word::kFailedTries | Word::kPhase)) | Word::kLocked;
    return s.word.compare_exchange(v, next, acquire);  // as take_free
  }

  // Called by a thread that had loaded `wakes` before it counted itself.
  static bool wait_in_queue(State& s, std::uint32_t wakes, const Deadline* deadline) noexcept {
    std::uint32_t channel = Head::kQueueChannel;
    for (Rechecks rechecks;;) {
      const Parked parked = sleep_in_queue(s, wakes, channel, within(deadline, rechecks.next_in()));
      const bool was_woken = parked != Parked::timed_out;
      if (parked == Parked::woken) channel = Head::kAgainChannel;
      if (!was_woken && Head::has_passed(deadline)) return leave_queue(s);
      rechecks.begins(was_woken);
      // Loaded before the word: a later wake-up changes it, so that the next sleep does not begin.
      // acquire: pairs with designate_waker.
      wakes = s.wakes.load(acquire);
      switch (recheck(s, rechecks)) {
        case Next::holder:
          return true;
        case Next::head:
          return Head::wait_as_head(s, deadline);
        case Next::real_time_waiter:
          return Head::wait_as_real_time(s, deadline);
        case Next::sleeper:
        case Next::nobody:
          break;
      }
    }
  }
  static Parked sleep_in_queue(State& s, std::uint32_t wakes, std::uint32_t channel,
                               const Deadline& end) noexcept {
    const Deadline due = P::due(end);
    for (;;) {
      // relaxed: the load that follows acquires.
      const Parked parked = W::wait_once(s.wakes, relaxed, wakes, channel, &due);
      if (parked != Parked::interrupted) return parked;  // which is not a wake-up
    }
  }
  // What a queued thread remembers from one recheck to the next.
  class Rechecks {
   public:
    std::uint64_t next_in() const noexcept {
      return Head::recheck_after(finds_reserved_ ? 0 : without_wake_);
    }
    void begins(bool was_woken) noexcept { without_wake_ = was_woken ? 0 : without_wake_ + 1; }
    // Returns whether the lock was already reserved at the last one, with no wake-up since.
    bool may_take_reserved() const noexcept { return finds_reserved_ && without_wake_ != 0; }
    void found(bool is_reserved) noexcept { finds_reserved_ = is_reserved && without_wake_ != 0; }

   private:
    unsigned without_wake_ = 0;  // the number of such rechecks in a row
    bool finds_reserved_ = false;
  };
  static Next recheck(State& s, Rechecks& rechecks) noexcept {
    Value v = s.word.load(relaxed);  // the compare-exchanges decide
    for (;;) {
      s.check();
      const Value out = (v - Word::kWaiter) & ~Word::kWaking;
      if (Word::is_free(v)) {
        if (s.word.compare_exchange(v, out | Word::kLocked, acquire))
          return Next::holder;  // as take_free
      } else if ((v & Word::kHasHead) == 0) {
        // acquire: as in take_place.
        if (s.word.compare_exchange(v, out | Word::kHasHead, acquire)) return Next::head;
      } else if (rechecks.may_take_reserved() && (v & Word::kBusy) == 0) {
        if (take_reserved(s, v, out)) return Next::holder;
      } else if (Head::is_real_time()) {
        // relaxed: publishes nothing; as in leave_queue.
        if (s.word.compare_exchange(v, out, relaxed)) return Next::real_time_waiter;
      } else if (clear_waking(s, v)) {
        rechecks.found((v & Word::kBusy) == 0);
        return Next::sleeper;
      }
    }
  }
  // Clears kWaking. Returns false if the word isn't v any more.
  static bool clear_waking(State& s, Value& v) noexcept {
    // relaxed: the head waiter is there, so that nobody else has to be woken.
    return (v & Word::kWaking) == 0 || s.word.compare_exchange(v, v & ~Word::kWaking, relaxed);
  }

  // Called when the deadline has passed. Returns true if the lock was free, and is held now.
  static bool leave_queue(State& s) noexcept {
    Value v = s.word.load(relaxed);  // the compare-exchange decides
    for (;;) {
      // This thread may be the one that is being woken. If no other takes its place, the next
      // release wakes one: the lock is busy, or the head waiter will get it.
      s.check();
      const Value out = (v - Word::kWaiter) & ~Word::kWaking;
      const bool takes = Word::is_free(v);
      // acquire: as take_free, if it takes the lock.
      if (s.word.compare_exchange(v, takes ? out | Word::kLocked : out, acquire)) return takes;
    }
  }
};

}  // namespace lockswap
