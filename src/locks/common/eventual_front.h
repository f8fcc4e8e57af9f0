// The front of an eventual lock: of the threads that wait, the one that is next (eventual_line.h,
// which has the idea, the steps and the invariants).
#pragma once

#include <algorithm>
#include <cstdint>

#include "locks/common/eventual_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W, EventualWord Layout>
class EventualFront : protected EventualFlags<P, Layout> {
 protected:
  using Flags = EventualFlags<P, Layout>;
  using Flags::is_fronts, Flags::kCalled, Flags::kDoubts, Flags::kFront, Flags::kFronts,
      Flags::kFrontSleeps, Flags::kHandOff, Flags::kLocked, Flags::kSleeps, Flags::kUrgent,
      Flags::must_call;
  using typename Flags::Value;

  static constexpr std::uint32_t kFrontChannel = 1;
  static constexpr std::uint32_t kLineChannel = 1;
  // Of the line, of those that were called before.
  static constexpr std::uint32_t kAgainChannel = 4;

  // Of the thread that has set kFront. True: it has the lock.
  bool be_front(const Deadline* deadline) noexcept {
    const std::uint64_t rest = rest_of_ration(), time = rest != 0 ? rest : P::hand_off_after();
    // Nobody takes a mutex past a front that sleeps until a release wakes it. Readers may come in
    // past the front of an rwlock.
    bool was_passed = !W::kParks || kHasReaders;
    bool asks = rest == 0 && (P::hand_off_after() == 0 || waits_for_readers());
    const Deadline due = P::due(within(deadline, time));
    const Deadline unpassed = was_passed ? due : P::due(within(deadline, kUnpassed * time));
    std::uint64_t nap = first_nap();
    bool late_phase = false;
    unsigned looks = 0;
    Value leaves = 0;  // kUrgent, once it has slept as one of those: as in be_urgent
    for (;;) {
      check_word();
      const std::uint32_t priority = own_priority();
      const Value urgent = priority != 0 ? kUrgent : 0;
      asks |= urgent != 0;  // at once, as one that is not the front
      if (arm(asks, priority, leaves)) return true;
      leaves |= urgent;
      const auto may_go_on = [](Value v) {
        return is_fronts(v) || (W::kParks && (v & kFrontSleeps) == 0);
      };
      // As the line does: a woken urgent thread may be stopped, and so may a reader of a phase.
      const Deadline late = within(deadline, asks && kLooks ? look_after(looks) : 0);
      // relaxed: take_as_front acquires.
      const Deadline& until = asks ? late : was_passed ? due : unpassed;
      const bool woken = W::sleep(word_, relaxed, 0, kFrontChannel, &until, may_go_on);
      if (take_as_front(leaves)) return true;
      if (woken) {
        was_passed = true;
        late_phase = false;
        looks = 0;
        // An urgent one does not nap: others may sleep on, and it says so as it sleeps again.
        if (!W::kParks || asks || leaves != 0) continue;
        // Woken and lost. The time of a front that naps goes on.
        const Deadline wakes = within(&due, nap);
        nap = std::min(2 * nap, kLongestNap);
        nap_until(wakes);
        continue;
      }
      if (deadline != nullptr && P::passed(*deadline)) return give_up(leaves);
      // Twice: the first may have begun right now.
      if (asks && late_phase) end_phase();
      late_phase = asks;
      if (asks) ++looks;
      asks = true;
    }
  }

  // --- naps: sleeps that nobody ends
  static std::uint64_t first_nap() noexcept {
    return std::clamp<std::uint64_t>(P::hand_off_after() / 16, 1, kLongestFirstNap);
  }
  void nap_until(const Deadline& end) noexcept {
    // relaxed: it hands nothing on.
    W::sleep(calls_, relaxed, 0, kNobodysChannel, &end, [](std::uint32_t) { return false; });
  }

  // How long a thread sleeps before it looks by itself whether the lock is kept for a thread that
  // doesn't come. While another thread stays in, looks find nothing, so from the third one on each
  // sleep is four times as long as the one before, up to kLongestLook. A thread that is stopped
  // then delays the others for a few times as long as they have waited already.
  static std::uint64_t look_after(unsigned looks) noexcept {
    constexpr unsigned kMostFourfold = 3;
    const unsigned fourfold = looks == 0 ? 0 : std::min(looks - 1, kMostFourfold);
    return std::min(P::take_back() << 2 * fourfold, kLongestLook);
  }

  // The calling thread's real-time priority, 0 if it has no such policy. Asked whenever it is about
  // to sleep.
  static std::uint32_t own_priority() noexcept {
    if constexpr (W::kParks) return P::priority_of(P::tid());
    return 0;
  }
  static bool is_urgent() noexcept { return own_priority() != 0; }
  // By a writer with such a policy which is about to sleep, and finds v.
  void note(std::uint32_t priority, Value v) noexcept {
    if constexpr (kHasReaders) {
      if (priority != 0) P::note_waiting_priority(&word_, priority, (v & kUrgent) != 0);
    }
  }
  // For a reader that finds v: it has such a policy, and a writer that sleeps comes first.
  bool is_behind(Value v, std::uint32_t priority) const noexcept {
    return priority != 0 && (v & kUrgent) != 0 && P::waiting_priority(&word_) >= priority;
  }

  // Of a thread with a real-time policy. True: it has the lock. False: the deadline has passed.
  [[gnu::noinline]] bool be_urgent(const Deadline* deadline) noexcept {
    // The release that woke it took kUrgent away, and others may sleep on.
    Value leaves = 0;
    unsigned looks = 0;
    for (bool late = false;;) {
      check_word();
      Value v = word_.load(relaxed);  // the compare-exchanges decide
      for (;;) {
        if (is_fronts(v)) {
          // Also past the front, which asks anew. acquire: as in take_as_front.
          const Value next = (v & ~(kHandOff | kDoubts)) | kLocked | leaves;
          if (word_.compare_exchange(v, next, acquire)) return true;
        } else if (late) {
          return false;
        } else if ((v & kFront) == 0) {
          // relaxed: nothing is handed on. The lock is busy: its release finds the front.
          if (word_.compare_exchange(v, v | kFront | leaves, relaxed)) return be_front(deadline);
        } else {
          note(own_priority(), v);
          // relaxed: nothing is handed on.
          if ((v & kAsks) == kAsks || word_.compare_exchange(v, v | kAsks, relaxed)) break;
        }
      }
      const auto may_go_on = [](Value now) { return is_fronts(now) || (now & kUrgent) == 0; };
      // As the line, it looks by itself: another one that was woken may be stopped.
      const Deadline look = within(deadline, look_after(looks));
      // relaxed: the compare-exchange that takes the lock acquires.
      const bool woken = W::sleep(word_, relaxed, 0, kFrontChannel, &look, may_go_on);
      late = !woken && deadline != nullptr && P::passed(*deadline);
      looks = woken ? 0 : looks + 1;
      leaves = kUrgent;
    }
  }

  // By a thread that has the lock. True: somebody is to be woken after the release.
  bool call(Value& v) noexcept {
    // acquire: pairs with the update in take_slowly that counted a waiter. A thread that was
    // counted has loaded `calls` before the next line.
    if (!word_.compare_exchange(v, v | kCalled, acquire)) return false;
    // release: a thread that finds it changed finds kCalled, too; pairs with in_line.
    calls_.fetch_add(1, release);
    v |= kCalled;
    return true;
  }

  void check_word() const noexcept {
    P::check([this] {
      return Flags::is_sound(word_.load(relaxed), kHasReaders && P::take_back() != 0);
    });
  }

  // After call, which found somebody in line, and the release: the lock may be gone.
  void wake_line() noexcept {
    if constexpr (W::kParks) {
      if (W::wake_one(&calls_, kAgainChannel) == 0) W::wake_one(&calls_, kLineChannel);
    }
  }

  typename P::template atomic<Value> word_{};
  typename P::template atomic<std::uint32_t> calls_{};
  [[no_unique_address]] typename Layout::template More<P> more_{};

 private:
  static constexpr bool kHasReaders = Layout::kReaders != 0;
  static constexpr bool kLooks = W::kParks || Layout::kPhase != 0;
  static constexpr std::uint64_t kLongestFirstNap = 30'000, kLongestNap = 250'000;  // nanoseconds
  static constexpr std::uint64_t kLongestLook = 10'000'000'000;
  // Times that a front sleeps for until it asks, where no thread has taken the mutex past it. On a
  // virtual machine a sleep whose timer is due before the next tick was measured to cost 5 us more.
  static constexpr std::uint64_t kUnpassed = 8;
  static constexpr Value kAsks = kUrgent | kHandOff;  // of an urgent thread: at once
  static constexpr int kStampShift = 10;  // stamps count in 1024 ns, and begin anew after an hour

  // How long it is until the lock may be handed off again. Where it has no room for the time of the
  // last hand-off, each front waits for the whole time.
  std::uint64_t rest_of_ration() const noexcept {
    if constexpr (kHasReaders) {
      // relaxed: the update that made the thread the front has acquired (take_slowly, in_line). One
      // from be_urgent has not: it asks at once.
      const std::uint32_t last = more_.handed_off.load(relaxed);
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
  // Readers come in past the front for as long as it does not ask, and one of those that are in may
  // not be running. A writer's release wakes the front.
  bool waits_for_readers() const noexcept {
    const Value v = word_.load(relaxed);  // it decides nothing but times
    return (v & kLocked) == 0 && (v & Layout::kReaders) != 0;
  }

  // `leaves`: what it leaves in the word beside.
  bool take_as_front(Value leaves) noexcept {
    Value v = word_.load(relaxed);  // the compare-exchange decides
    while (is_fronts(v)) {
      const bool handed_off = (v & kHandOff) != 0;
      if constexpr (kHasReaders) {
        // Before the update, right after which there may be a new front. relaxed: the update is
        // release for it.
        if (handed_off) more_.handed_off.store(stamp(), relaxed);
      }
      // acquire: pairs with the releases of those that had the lock. release: with the acquire of
      // the next front (take_slowly, in_line), for the time above.
      const Value next = (v & ~kFronts) | kLocked | leaves;
      if (!word_.compare_exchange(v, next, kHasReaders ? acq_rel : acquire)) continue;
      if (handed_off) {
        P::handed_off(&word_);
        call_early();
      }
      return true;
    }
    return false;
  }
  // After a hand-off the next one comes to the front while this thread has the lock: where that
  // many wait, the time that a thread takes to wake up should not be added to each turn.
  [[gnu::noinline]] void call_early() noexcept {
    Value v = word_.load(relaxed);  // the compare-exchange in call decides
    while (must_call(v)) {
      if (!call(v)) continue;
      wake_line();
    }
  }

  // The front is about to sleep. True: it has the lock.
  bool arm(bool asks, std::uint32_t priority, Value leaves) noexcept {
    const Value flags =
        (asks ? kHandOff : 0) | (W::kParks ? kFrontSleeps : 0) | (priority != 0 ? kUrgent : 0);
    Value v = word_.load(relaxed);  // the compare-exchange decides
    for (;;) {
      if (is_fronts(v)) {
        if (take_as_front(leaves)) return true;
        v = word_.load(relaxed);
      } else {
        note(priority, v);
        // relaxed: nothing is handed on.
        if ((v & flags) == flags || word_.compare_exchange(v, v | flags, relaxed)) return false;
      }
    }
  }
  // Also beside readers, which come in for as long as it lasts.
  void end_phase() noexcept {
    if constexpr (Layout::kPhase != 0) {
      Value v = word_.load(relaxed);  // the compare-exchange decides
      // relaxed: the phase hands nothing on.
      while ((v & Layout::kPhase) != 0 &&
             !word_.compare_exchange(v, v & ~Layout::kPhase, relaxed)) {}
    }
  }
  // The deadline has passed. True: the lock was free, and is held.
  bool give_up(Value leaves) noexcept {
    Value v = word_.load(relaxed);  // the compare-exchange decides
    for (;;) {
      if (is_fronts(v)) {
        if (take_as_front(leaves)) return true;
        v = word_.load(relaxed);
      } else if (word_.compare_exchange(v, v & ~kFronts, relaxed)) {
        return false;  // relaxed: the lock is busy, and its release calls the next
      }
    }
  }
};

}  // namespace lockswap
