// The line of those that wait for an eventual lock, and what its release does for them: the mutex
// `eventual` (mutex/eventual.h), and the writers of the rwlock `eventual` (rw/eventual.h).
//
// Sources: eventual fairness as in WebKit's WTF::Lock and Rust's parking_lot, whose constant of
//   0.5 ms this is; the designated waker and the word of M. Burrows' nsync; the hand-off bit that a
//   waiter sets as in Linux's rwsem. No code of theirs.
// Idea: a thread that comes to an open lock has it, also past those that wait (barging). One of
//   those that wait, the front, is next: it alone is woken by releases, and it keeps its place when
//   it was woken and lost. The others are the line. When the front has been that for
//   LOCKSWAP_HANDOVER_US without getting the lock it sets kHandOff: from then on the lock, when it
//   is free, is kept for the front. So hand-offs are rationed, since each takes a front that long,
//   and a release reads no clock.
// Files: eventual_word.h, the bits; eventual_front.h, the front; here, the line and the releases.
// State (word: the flags, the number of threads in the line, and what the lock adds; calls):
//   word   kLocked, kFront, kHandOff, kFrontSleeps, kCalled, kUrgent, kCounts, doubts, waiters
//   calls  changes when a thread of the line is called
//   states of the lock: held (busy); kept (not busy, kHandOff); open (neither)
// Steps of a waiter:
//   0. it naps, where one running thread alone is faster than several; and naps and looks again
//      while a wake-up is under way, where the lock is seldom busy
//   1. without a front and a line it becomes the front; else it counts itself into the line, and
//      sleeps on `calls`
//   2. called, it takes the lock if that is open; else it becomes the front if there is none; else
//      it sleeps again, on a channel of its own (kAgainChannel) that calls come to first: so it
//      keeps its age
//   3. the front takes the lock whenever it is not busy. It sets kFrontSleeps, and sleeps on `word`
//      until its time is over. A release that finds kFrontSleeps takes it away, and wakes it. If it
//      has lost then, it naps for a while before it asks for the next wake-up: the lock is hot
//   4. after its time it sets kHandOff, and sleeps on. Nobody has passed the front of a mutex that
//      no release has woken yet, and that sleeps for longer: short timers are dear (kUnpassed). A
//      lock with readers knows when it was last handed off: a front that waits for readers sets
//      kHandOff at once, if that is as long ago
//   A thread with a real-time policy stays out of the line: it is urgent. It takes the lock
//   whenever that is not busy, also past the front that it is kept for. Else it becomes the front
//   if there is none, or sets kUrgent and kHandOff, and sleeps on `word`. A thread asks for its
//   policy whenever it is about to sleep, since policies change.
// Steps of a release:
//   1. without a front, with a line of which nobody is called: sets kCalled, then changes `calls`
//      (both before the lock is free, since afterwards the object may be gone)
//   2. frees the lock by one update. With kCounts it counts itself first, or takes kCounts away
//   3. wakes one of the front and the urgent threads, the highest priority first, or one of the
//      line, if this release has to; the same update as in 2 took kFrontSleeps and kUrgent away. An
//      urgent thread that was woken sets kUrgent again as it takes the lock or goes: others may
//      sleep on, the front among them
//   4. of a lock with readers: if a called thread has not looked yet, or the front is awake and
//      readers stay in, it yields, now and then, the processor on which the one or the other may
//      wait to run (platform/gives_way.h)
//   After a hand-off the new holder does 1 at once.
// Invariants: kFrontSleeps and kUrgent are not set while the front may take the lock, but for a
//   moment when the front itself has ended a phase. kHandOff is set only while there is a front.
//   kCalled is set only while the line is not empty. At most one wake-up of the line and one of
//   `word` is under way: kCalled until a thread of the line has looked, kSleeps until the thread
//   that was woken has. While the lock is open and threads wait, a wake-up is under way or the
//   front is awake or napping. A thread that loads `calls` before it
//   counts itself, or before it looks, misses no call.
// A hand-off to a thread that cannot run is taken back: a kept lock is nobody's until the front
//   claims it. The front and urgent threads look by themselves after P::take_back(), since another
//   one may have been woken. So does a thread of the line, at longer and longer intervals; one that
//   finds the lock kept, and kept still after another such time, takes it. A try that finds it kept
//   leaves a doubt, now and then (platform/doubts.h); after kMostDoubts of them a try takes it.
// Fairness: urgent threads come first, in the order of their priorities, in which the kernel wakes
//   them, one for each release; a thread that runs may be faster, as with any lock that admits
//   barging. Threads of the line become fronts in the order in which they fell asleep, also those
//   that were called and lost. One that is called as it is about to fall asleep may go before a
//   sleeper that the same call woke, once. Each is the front for LOCKSWAP_HANDOVER_US at most, and
//   then next. A signal handler, or a look by itself, puts a sleeper at the end of the kernel's
//   queue. Under spin and yield nobody sleeps, and no thread is urgent: the front is the first that
//   looks, and then is next.
// Space: no nodes. Where the count is full, a thread yields instead of joining the line.
#pragma once

#include <algorithm>
#include <cstdint>

#include "locks/common/eventual_front.h"
#include "locks/common/eventual_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/pause.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W, EventualWord Layout>
class EventualLine : protected EventualFront<P, W, Layout> {
 protected:
  using Front = EventualFront<P, W, Layout>;
  using Front::be_front, Front::be_urgent, Front::check_word, Front::is_urgent, Front::more_,
      Front::call, Front::calls_, Front::is_open, Front::kAgainChannel, Front::kBusy,
      Front::kCalled, Front::kCounts, Front::kDoubt, Front::kDoubts, Front::kFront,
      Front::kFrontChannel, Front::kHandOff, Front::kLineChannel, Front::kLocked,
      Front::kMostDoubts, Front::kSleeps, Front::kWaiter, Front::kWaiters, Front::must_call,
      Front::word_;
  using typename Front::Value;

  // --- taking

  [[gnu::always_inline]] bool take_open() noexcept {
    check_word();
    Value v = word_.load(relaxed);  // the compare-exchange decides
    while (is_open(v)) {
      // acquire: pairs with the releases: free, the lock's fast_unlock or write_unlock, and leave.
      if (word_.compare_exchange(v, v | kLocked, acquire)) [[likely]]
        return true;
    }
    return false;
  }

  bool try_take() noexcept {
    check_word();
    Value v = word_.load(relaxed);  // the compare-exchange decides
    while ((v & kBusy) == 0) {
      if (is_open(v)) {
        if (word_.compare_exchange(v, v | kLocked, acquire)) return true;  // as take_open
      } else if ((v & kDoubts) < kMostDoubts) {
        // relaxed: a doubt orders nothing.
        if (!P::Doubts::counts(&word_) || word_.compare_exchange(v, v + kDoubt, relaxed))
          return false;
      } else if (take_kept(v, v)) {
        return true;
      }
    }
    return false;
  }

  // True: the lock is held. False: the deadline (nullptr: none) has passed.
  [[gnu::noinline]] bool take_slowly(const Deadline* deadline) noexcept {
    if (const std::uint64_t time = advised_nap(deadline); time != 0) nap(time);
    if (look_for_a_while([this] { return take_open(); })) return true;
    if (is_urgent()) return be_urgent(deadline);
    if (W::kParks && take_after_nap(deadline)) return true;
    for (unsigned round = 0;;) {
      // Before the update that counts this thread: see in_line.
      // relaxed: that update keeps this load before it.
      const std::uint32_t calls = calls_.load(relaxed);
      Value v = word_.load(relaxed);  // the compare-exchanges decide
      if (is_open(v)) {
        if (word_.compare_exchange(v, v | kLocked, acquire)) return true;  // as take_open
      } else if ((v & (kFront | kWaiters)) == 0) {
        // The lock is busy: its release finds the front. acquire: pairs with take_as_front, so that
        // the time of the last hand-off is seen (rest_of_ration).
        if (word_.compare_exchange(v, v | kFront, acquire)) return be_front(deadline);
      } else if ((v & kWaiters) == kWaiters) {
        if (deadline != nullptr && P::passed(*deadline)) return false;
        P::step_aside(round++);
      } else {
        // release: pairs with the acquire in call, so that `calls` was loaded before it changes.
        if (word_.compare_exchange(v, v + kWaiter, release)) return in_line(calls, deadline);
      }
    }
  }

  // Of a thread that has found the lock taken: for how many nanoseconds it naps before it goes on,
  // 0 if not at all. Where one running thread alone gets more done than several, it does
  // (platform/one_at_a_time.h), but for a call with a deadline. It must have no place here yet: for
  // all others it comes later.
  std::uint64_t advised_nap(const Deadline* deadline) noexcept {
    if (!W::kParks || !Layout::kLeavesToOne || P::hand_off_after() == 0) return 0;
    if (deadline != nullptr && !has_no_time(*deadline)) return 0;
    const auto advice = P::OneAtATime::advise(&word_);
    if (advice.counts) {
      Value v = word_.load(relaxed);  // the compare-exchange decides
      // relaxed: it hands nothing on.
      while (!word_.compare_exchange(v, v | kCounts, relaxed)) {}
    }
    if (advice.nap == 0 || is_urgent()) return 0;
    return std::min<std::uint64_t>(advice.nap, kMostNap * P::hand_off_after());
  }
  void nap(std::uint64_t nanoseconds) noexcept {
    P::naps();
    Front::nap_until(within(nullptr, nanoseconds));
    P::OneAtATime::napped(&word_);
  }

  // A wake-up under way may take a time slice, where the kernel has put the woken thread behind a
  // running one, and nobody else is woken meanwhile: if this thread slept, its processor would be
  // idle for that long. So it naps and looks again, where that pays (platform/naps.h). It has no
  // place in the line yet: for all others it is a thread that comes later.
  bool take_after_nap(const Deadline* deadline) noexcept {
    const Value v = word_.load(relaxed);  // it decides nothing but times
    const bool comes = (v & kCalled) != 0 || (v & (kFront | Front::kFrontSleeps)) == kFront;
    if (!comes || P::hand_off_after() == 0 || !P::Naps::are_worth(&word_)) return false;
    Front::nap_until(within(deadline, Front::first_nap()));
    P::Naps::learn(&word_, (word_.load(relaxed) & kBusy) != 0);  // relaxed: as above
    return look_for_a_while([this] { return take_open(); });
  }

  // Calls `take` now and then for as long as a thread spins before it sleeps. It looks seldom,
  // since a look takes the word from the processor of the thread that has the lock. False: it
  // sleeps.
  template <class Take>
  bool look_for_a_while(const Take& take) noexcept {
    typename P::Spins spins(&word_);
    bool more = spins.more();
    for (std::uint32_t pauses = 1; more; pauses *= 2) {
      for (std::uint32_t i = pauses; i != 0 && more; --i, more = spins.more())
        P::relax();
      if (!take()) continue;
      spins.won();
      return true;
    }
    return false;
  }

  // --- releasing

  // For a lock without readers: the caller has it.
  void free() noexcept {
    check_word();
    Value v = word_.load(relaxed);  // the compare-exchange decides
    const Value rest = ~(kLocked | kSleeps | counting_ends(v));
    bool called = false;
    for (;;) {
      if (must_call(v)) {
        called |= call(v);
        continue;
      }
      Value next = v & rest;
      if ((next & kFront) == 0) next &= ~kDoubts;  // they were of a front that has the lock by now
      // release: the critical section; pairs with take_open and its like.
      if (word_.compare_exchange(v, next, release)) break;
    }
    wake_next(v, called);
  }

  // Of a release, which counts itself if that is asked: the bit that it takes away.
  Value counting_ends(Value v) noexcept {
    return (v & kCounts) != 0 && !P::OneAtATime::counted(&word_) ? kCounts : 0;
  }

  // After the release, which found v. The lock may be gone.
  void wake_next(Value v, bool called) noexcept {
    if constexpr (W::kParks) {
      // The one with the highest real-time priority, as the kernel orders them.
      if ((v & kSleeps) != 0) W::wake_one(&word_, kFrontChannel);
      // Without kCalled somebody has looked.
      if (called && (v & kCalled) != 0) Front::wake_line();
    }
  }

  // The end of a release that found v and left `next`, and called nobody. The lock may be gone.
  static void give_way(Value v, Value next) noexcept {
    const bool called = (v & kCalled) != 0;
    // Readers are in, and came past a front that is awake.
    const bool passes = (v & (kFront | Front::kFrontSleeps)) == kFront && (next & Layout::kReaders);
    if (!called && !passes) return;
    if (P::GivesWay::is_time(called) && !is_urgent()) P::GivesWay::yield();
  }

 private:
  static constexpr std::uint64_t kMostNap = 4;  // times LOCKSWAP_HANDOVER_US

  // Takes a lock that is kept for another thread, and not busy: it becomes `from`, but held.
  bool take_kept(Value& v, Value from) noexcept {
    const Value next = (from & ~(kHandOff | kDoubts | Layout::kPhase)) | kLocked;
    return word_.compare_exchange(v, next, acquire);  // as take_open
  }

  // The thread is counted, and had loaded `calls` before.
  bool in_line(std::uint32_t calls, const Deadline* deadline) noexcept {
    bool doubts = false;
    std::uint32_t channel = kLineChannel;
    for (unsigned looks = 0;;) {
      const Deadline soon = P::due(within(deadline, Front::look_after(doubts ? 0 : looks)));
      Parked parked;
      do {
        // relaxed: the load below acquires.
        parked = W::wait_once(calls_, relaxed, calls, channel, &soon);
      } while (parked == Parked::interrupted);  // that is no call
      const bool was_called = parked != Parked::timed_out;
      if (parked == Parked::woken) channel = kAgainChannel;
      if (!was_called && deadline != nullptr && P::passed(*deadline)) return leave_line();
      looks = was_called ? 0 : looks + 1;
      // Before the look: a call after the look changes it, so that the next sleep does not begin.
      // acquire: pairs with call.
      calls = calls_.load(acquire);
      Value v = word_.load(relaxed);  // the compare-exchanges decide
      for (;;) {
        check_word();
        const Value out = (v - kWaiter) & ~kCalled;
        if (is_open(v)) {
          if (word_.compare_exchange(v, out | kLocked, acquire)) return true;  // as take_open
        } else if ((v & kFront) == 0) {
          // acquire: as in take_slowly.
          if (word_.compare_exchange(v, out | kFront, acquire)) return be_front(deadline);
        } else if (doubts && !was_called && (v & kBusy) == 0) {
          if (take_kept(v, out)) return true;
        } else if (is_urgent()) {
          // relaxed: nothing is handed on; as in leave_line.
          if (word_.compare_exchange(v, out, relaxed)) return be_urgent(deadline);
        } else if ((v & kCalled) == 0 || word_.compare_exchange(v, v & ~kCalled, relaxed)) {
          break;  // relaxed: the front is there, so that the call is answered
        }
      }
      doubts = !was_called && (v & kBusy) == 0;
    }
  }

  // The deadline has passed. True: the lock was open, and is held.
  bool leave_line() noexcept {
    Value v = word_.load(relaxed);  // the compare-exchange decides
    for (;;) {
      // The call may have been for this thread. If nobody else answers it, the next release calls
      // again: the lock is busy, or the front will have it.
      check_word();
      const Value out = (v - kWaiter) & ~kCalled;
      const bool takes = is_open(v);
      // acquire: as take_open, if it takes the lock.
      if (word_.compare_exchange(v, takes ? out | kLocked : out, acquire)) return takes;
    }
  }
};

}  // namespace lockswap
