// The head waiter of an eventual lock, and real-time waiters, which don't queue. eventual_word.h
// has the idea, the states and the invariants.
//
// Steps of the head waiter:
//   1. it sets kHeadSleeps and sleeps on the word. A release that finds kHeadSleeps clears it and
//      wakes the head waiter, which takes the lock unless that is busy
//   2. if it is woken and another thread was faster, it backs off before it asks to be woken again,
//      because the lock is contended
//   3. after LOCKSWAP_HANDOVER_US it requests a hand-off: it sets kHandOff, and sleeps again
//   Until a release has woken a mutex's head waiter, nobody can have bypassed it. So its first
//   sleep is longer, because short timers are expensive (kUnpassed). A lock with readers knows when
//   it was handed off last: a head waiter that waits for readers requests a hand-off at once if
//   that is long enough ago.
// Steps of a thread with a real-time policy: it takes the lock unless that is busy, even if it is
//   reserved for the head waiter. Else it becomes the head waiter if there is none, or sets
//   kRealTime and kHandOff and sleeps on the word. Policies may change, so a thread asks for its
//   own whenever it is about to sleep. Having been woken, it sets kRealTime again as it takes the
//   lock or times out, because others may still be asleep, including the head waiter.
#pragma once

#include <algorithm>
#include <cstdint>

#include "locks/common/eventual_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// Has no state of its own: `s`, here and below, is the lock's.
template <Platform P, LineWaitPolicy<P> W, EventualWord Layout>
class EventualHead {
 public:
  using Word = EventualFlags<P, Layout>;
  using Value = typename Word::Value;
  using State = EventualState<P, Layout>;

  static constexpr std::uint32_t kWordChannel = 1;   // on the word: the head and real-time waiters
  static constexpr std::uint32_t kQueueChannel = 1;  // on `wakes`: queued threads
  static constexpr std::uint32_t kAgainChannel = 4;  // the same, if woken before in vain

  // Called by the thread that has set kHasHead. Returns true if it has the lock, false if the
  // deadline has passed.
  static bool wait_as_head(State& s, const Deadline* deadline) noexcept {
    Request request(s, deadline);
    Value keeps = 0;  // kRealTime, once it has slept as a real-time waiter
    for (;;) {
      s.check();
      const std::uint32_t priority = own_priority();
      if (priority != 0) request.make();  // at once, like a real-time waiter that isn't the head
      if (prepare_to_sleep(s, request.is_made(), priority, keeps)) return true;
      keeps |= flag_for(priority);
      const bool woken = sleep_as_head(s, request.sleeps_until(deadline));
      if (take_as_head(s, keeps)) return true;
      if (woken) {
        request.lost();
        // A real-time waiter doesn't back off: for others asleep it sets kRealTime as it sleeps.
        if (W::kParks && !request.is_made() && keeps == 0) back_off_until(s, request.backs_off());
        continue;
      }
      if (has_passed(deadline)) return give_up(s, keeps);
      if (request.timed_out()) end_phase(s);
    }
  }

  // Called by a thread with a real-time policy. Returns like wait_as_head.
  [[gnu::noinline]] static bool wait_as_real_time(State& s, const Deadline* deadline) noexcept {
    Value keeps = 0;  // kRealTime, once it has slept
    unsigned rechecks = 0;
    for (bool late = false;;) {
      s.check();
      switch (become_real_time_waiter(s, keeps, late)) {
        case Next::holder:
          return true;
        case Next::head:
          return wait_as_head(s, deadline);
        case Next::nobody:
          return false;
        case Next::sleeper:
        case Next::real_time_waiter:
          break;
      }
      const auto may_go_on = [](Value now) {
        return Word::head_may_take(now) || (now & Word::kRealTime) == 0;
      };
      // Like queued threads it rechecks: another waiter that was woken may have been preempted.
      const Deadline until = within(deadline, recheck_after(rechecks));
      // relaxed: the compare-exchange that takes the lock acquires.
      const bool woken = W::sleep(s.word, relaxed, 0, kWordChannel, &until, may_go_on);
      late = !woken && has_passed(deadline);
      rechecks = woken ? 0 : rechecks + 1;
      keeps = Word::kRealTime;
    }
  }

  // The role of a waiter that has rechecked the word; nobody: it has timed out.
  enum class Next : std::uint8_t { holder, head, real_time_waiter, sleeper, nobody };

  static bool has_passed(const Deadline* deadline) noexcept {
    return deadline != nullptr && P::passed(*deadline);
  }

  // Returns the calling thread's real-time priority, or 0 if it has no such policy.
  static std::uint32_t own_priority() noexcept {
    if constexpr (W::kParks) return P::priority_of(P::tid());
    return 0;
  }
  static bool is_real_time() noexcept { return own_priority() != 0; }
  // Returns whether a reader of that priority must wait because a sleeping writer's isn't lower.
  static bool is_behind(const State& s, Value v, std::uint32_t priority) noexcept {
    return priority != 0 && (v & Word::kRealTime) != 0 && P::waiting_priority(&s.word) >= priority;
  }

  // Returns how long a thread sleeps until it rechecks whether the lock is reserved for a thread
  // that doesn't come. While the lock stays held, rechecks find nothing, so each sleep after the
  // second one is four times as long as the previous one, up to kLongestRecheck. A preempted thread
  // therefore delays the others for at most a few times as long as they have waited already.
  static std::uint64_t recheck_after(unsigned rechecks) noexcept {
    constexpr unsigned kMostFourfold = 3;
    const unsigned fourfold = rechecks == 0 ? 0 : std::min(rechecks - 1, kMostFourfold);
    return std::min(P::take_back() << 2 * fourfold, kLongestRecheck);
  }

  static std::uint64_t first_backoff() noexcept {
    return std::clamp<std::uint64_t>(P::hand_off_after() / 16, 1, kLongestFirstBackoff);
  }
  // Sleeps until `end`; no wake-up ends that earlier.
  static void back_off_until(State& s, const Deadline& end) noexcept {
    // relaxed: it acquires nothing.
    W::sleep(s.wakes, relaxed, 0, kNobodysChannel, &end, [](std::uint32_t) { return false; });
  }

  // Must be called by a thread that has the lock. Returns true if a queued thread has to be woken
  // after the release, or false and the new value in v if the word has changed.
  static bool designate_waker(State& s, Value& v) noexcept {
    // acquire: pairs with the RMW in take_place that counted a waiter. A thread that was
    // counted has loaded `wakes` before the next line.
    if (!s.word.compare_exchange(v, v | Word::kWaking, acquire)) return false;
    // release: a thread that sees the change sees kWaking, too; pairs with wait_in_queue.
    s.wakes.fetch_add(1, release);
    v |= Word::kWaking;
    return true;
  }
  // Wakes the oldest queued thread, after designate_waker and the release: the lock may be gone.
  static void wake_queued(State& s) noexcept {
    if constexpr (W::kParks) {
      if (W::wake_one(&s.wakes, kAgainChannel) == 0) W::wake_one(&s.wakes, kQueueChannel);
    }
  }

 private:
  static constexpr bool kHasReaders = Word::kReaders != 0;
  static constexpr bool kRechecks = W::kParks || Word::kPhase != 0;
  // All three are in nanoseconds.
  static constexpr std::uint64_t kLongestFirstBackoff = 30'000, kLongestBackoff = 250'000;
  static constexpr std::uint64_t kLongestRecheck = 10'000'000'000;
  // How many times LOCKSWAP_HANDOVER_US the head waiter of a mutex sleeps for before it requests a
  // hand-off, if no thread has bypassed it. On a virtual machine a sleep whose timer is due before
  // the next tick was measured to cost 5 us more.
  static constexpr std::uint64_t kUnpassed = 8;
  // The flags of a real-time waiter.
  static constexpr Value kRequests = Word::kRealTime | Word::kHandOff;
  static constexpr int kStampShift = 10;  // stamps count in 1024 ns, and wrap after an hour

  // The head waiter's request of a hand-off: when it is due, and what happens once it is made.
  class Request {
   public:
    Request(const State& s, const Deadline* deadline) noexcept {
      const std::uint64_t rest = rest_of_ration(s);
      const std::uint64_t time = rest != 0 ? rest : P::hand_off_after();
      is_made_ = rest == 0 && (P::hand_off_after() == 0 || waits_for_readers(s));
      due_ = P::due(within(deadline, time));
      unpassed_ = was_passed_ ? due_ : P::due(within(deadline, kUnpassed * time));
    }

    void make() noexcept { is_made_ = true; }
    bool is_made() const noexcept { return is_made_; }
    // Returns when a sleep ends if no wake-up ends it earlier.
    Deadline sleeps_until(const Deadline* deadline) const noexcept {
      if (!is_made_) return was_passed_ ? due_ : unpassed_;
      // Queued threads recheck: a woken real-time waiter may have been preempted, and so may a
      // reader whose phase this one waits for.
      return within(deadline, kRechecks ? recheck_after(rechecks_) : 0);
    }
    // Called when it was woken and another thread was faster.
    void lost() noexcept {
      was_passed_ = true;
      in_same_phase_ = false;
      rechecks_ = 0;
    }
    // Returns the end of its backoff. The time until its request is due keeps running.
    Deadline backs_off() noexcept {
      const Deadline end = within(&due_, backoff_);
      backoff_ = std::min(2 * backoff_, kLongestBackoff);
      return end;
    }
    // Called when a sleep has timed out. Returns true if a phase of readers has to end, which takes
    // two such timeouts in a row: the phase may have begun just before the first.
    bool timed_out() noexcept {
      const bool ends_phase = is_made_ && in_same_phase_;
      in_same_phase_ = is_made_;
      if (is_made_) ++rechecks_;
      is_made_ = true;
      return ends_phase;
    }

   private:
    // Nobody can bypass the head waiter of a mutex before a release has woken it. Readers can
    // bypass that of an rwlock.
    bool was_passed_ = !W::kParks || kHasReaders;
    bool is_made_;
    bool in_same_phase_ = false;
    unsigned rechecks_ = 0;
    std::uint64_t backoff_ = first_backoff();
    Deadline due_, unpassed_;
  };

  // Returns the time until the lock may be handed off again. If the lock does not record its last
  // hand-off, each head waiter waits for the whole time.
  static std::uint64_t rest_of_ration(const State& s) noexcept {
    if constexpr (kHasReaders) {
      // relaxed: the RMW that set kHasHead was an acquire (take_place, recheck), except that of
      // wait_as_real_time, which requests at once and doesn't use the value.
      const std::uint32_t last = s.more.handed_off.load(relaxed);
      if (last == 0) return 0;
      const std::uint64_t since = std::uint64_t{stamp() - last} << kStampShift;
      return since < P::hand_off_after() ? P::hand_off_after() - since : 0;
    } else {
      return P::hand_off_after();
    }
  }
  static std::uint32_t stamp() noexcept {
    return std::max<std::uint32_t>(static_cast<std::uint32_t>(P::now() >> kStampShift), 1);
  }
  // Returns whether only readers keep the head waiter out. More of them enter until it requests a
  // hand-off, and a holder may not be running. (A writer would wake the head waiter when it
  // releases the lock.)
  static bool waits_for_readers(const State& s) noexcept {
    const Value v = s.word.load(relaxed);  // affects timing only
    return (v & Word::kLocked) == 0 && (v & Word::kReaders) != 0;
  }
  // Called by a writer with a real-time policy that has read v and is about to sleep.
  static void note_priority(State& s, std::uint32_t priority, Value v) noexcept {
    if constexpr (kHasReaders) {
      if (priority != 0) P::note_waiting_priority(&s.word, priority, (v & Word::kRealTime) != 0);
    }
  }

  static Value flag_for(std::uint32_t priority) noexcept {
    return priority != 0 ? Word::kRealTime : 0;
  }

  // A step of wait_as_real_time.
  static Next become_real_time_waiter(State& s, Value keeps, bool late) noexcept {
    Value v = s.word.load(relaxed);  // the compare-exchanges decide
    for (;;) {
      if (Word::head_may_take(v)) {
        // Even ahead of the head waiter, which repeats its request. acquire: as in take_as_head.
        const Value next = (v & ~(Word::kHandOff | Word::kFailedTries)) | Word::kLocked | keeps;
        if (s.word.compare_exchange(v, next, acquire)) return Next::holder;
      } else if (late) {
        return Next::nobody;
      } else if ((v & Word::kHasHead) == 0) {
        // relaxed: publishes nothing. The lock is busy, so its release finds the head waiter.
        if (s.word.compare_exchange(v, v | Word::kHasHead | keeps, relaxed)) return Next::head;
      } else {
        note_priority(s, own_priority(), v);
        // relaxed: publishes nothing.
        if ((v & kRequests) == kRequests || s.word.compare_exchange(v, v | kRequests, relaxed))
          return Next::real_time_waiter;
      }
    }
  }

  // Returns false if nobody has woken it by then.
  static bool sleep_as_head(State& s, const Deadline& until) noexcept {
    const auto may_go_on = [](Value v) {
      return Word::head_may_take(v) || (W::kParks && (v & Word::kHeadSleeps) == 0);
    };
    // relaxed: take_as_head acquires.
    return W::sleep(s.word, relaxed, 0, kWordChannel, &until, may_go_on);
  }
  // Takes the lock if the head waiter may. `keeps`: flags to set in the same RMW.
  static bool take_as_head(State& s, Value keeps) noexcept {
    Value v = s.word.load(relaxed);  // the compare-exchange decides
    while (Word::head_may_take(v)) {
      const bool handed_off = (v & Word::kHandOff) != 0;
      if constexpr (kHasReaders) {
        // Before the CAS, right after which there may be a new head waiter. relaxed: published by
        // the release in the CAS below.
        if (handed_off) s.more.handed_off.store(stamp(), relaxed);
      }
      // acquire: pairs with the releases of earlier holders. release: publishes the time above;
      // pairs with the acquire of the next head waiter (take_place, recheck).
      const Value next = (v & ~Word::kOfHead) | Word::kLocked | keeps;
      if (!s.word.compare_exchange(v, next, kHasReaders ? acq_rel : acquire)) continue;
      if (handed_off) {
        P::handed_off(&s.word);
        wake_early(s);
      }
      return true;
    }
    return false;
  }
  // After a hand-off the next queued thread becomes the head waiter while this one has the lock:
  // if many threads wait, the time that a thread takes to wake up should not be added to each turn.
  [[gnu::noinline]] static void wake_early(State& s) noexcept {
    Value v = s.word.load(relaxed);  // the compare-exchange in designate_waker decides
    while (Word::needs_waker(v)) {
      if (designate_waker(s, v)) wake_queued(s);
    }
  }

  // Sets the flags of a head waiter that sleeps. Returns true if it got the lock instead.
  static bool prepare_to_sleep(State& s, bool requests, std::uint32_t priority,
                               Value keeps) noexcept {
    const Value flags =
        (requests ? Word::kHandOff : 0) | (W::kParks ? Word::kHeadSleeps : 0) | flag_for(priority);
    Value v = s.word.load(relaxed);  // the compare-exchange decides
    for (;;) {
      if (Word::head_may_take(v)) {
        if (take_as_head(s, keeps)) return true;
        v = s.word.load(relaxed);
      } else {
        note_priority(s, priority, v);
        // relaxed: publishes nothing.
        if ((v & flags) == flags || s.word.compare_exchange(v, v | flags, relaxed)) return false;
      }
    }
  }
  // Ends a phase of readers, in which more of them would enter.
  static void end_phase(State& s) noexcept {
    if constexpr (Word::kPhase != 0) {
      Value v = s.word.load(relaxed);  // the compare-exchange decides
      // relaxed: the phase publishes nothing.
      while ((v & Word::kPhase) != 0 && !s.word.compare_exchange(v, v & ~Word::kPhase, relaxed)) {}
    }
  }
  // Called when the deadline has passed. Returns true if the lock was free, and is held now.
  static bool give_up(State& s, Value keeps) noexcept {
    Value v = s.word.load(relaxed);  // the compare-exchange decides
    for (;;) {
      if (Word::head_may_take(v)) {
        if (take_as_head(s, keeps)) return true;
        v = s.word.load(relaxed);
      } else if (s.word.compare_exchange(v, v & ~Word::kOfHead, relaxed)) {
        return false;  // relaxed: the lock is busy, and its release wakes a queued thread
      }
    }
  }
};

}  // namespace lockswap
