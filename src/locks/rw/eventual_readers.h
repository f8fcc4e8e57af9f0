// Waiting readers of the rwlock `eventual` (eventual.h, which has the states, the steps and the
// invariants): how they are counted, sleep, and enter.
#pragma once

#include <cstdint>

#include "locks/common/eventual_head.h"
#include "locks/common/eventual_word.h"
#include "locks/rw/eventual_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/pause.h"
#include "wait/concept.h"

namespace lockswap {

// Has no state of its own: `s`, here and below, is the lock's.
template <Platform P, LineWaitPolicy<P> W>
class EventualReaders {
  using Head = EventualHead<P, W, EventualRwWord>;

 public:
  using Word = EventualRwFlags<P>;
  using Value = typename Word::Value;
  using State = EventualState<P, EventualRwWord>;

  static constexpr std::uint32_t kReadersChannel = 1;

  // Returns 0 if the reader holds the lock. Otherwise it is counted as waiting, and this returns
  // its attempt.
  [[gnu::noinline]] static std::uint32_t arrive_slowly(State& s) noexcept {
    const std::uint32_t level = s.more.level.load(relaxed);  // it decides nothing but times
    Value v = s.word.load(relaxed);                          // the compare-exchanges decide
    for (unsigned round = 0;;) {
      if (Word::can_enter(v)) {
        if (s.word.compare_exchange(v, v + Word::kReader, acquire)) return 0;  // as in read_if_free
      } else if ((v & Word::kWaitingReaders) == Word::kWaitingReaders) {
        P::step_aside(round++);
        v = s.word.load(relaxed);
        // relaxed: publishes nothing. A release that misses this reader comes before its check in
        // read_wait.
      } else if (s.word.compare_exchange(v, v + Word::kWaitingReader, relaxed)) {
        return EventualAttempt::begin(level);
      }
    }
  }

  // Lets a reader in that is counted as waiting, if it can enter. Otherwise returns false, and the
  // word's current value in v. A reader with a real-time priority waits for a head waiter only if
  // that has the same or a higher priority, but then regardless of its patience.
  static bool enter(State& s, Value& v, std::uint32_t attempt,
                    std::uint32_t priority = 0) noexcept {
    for (;;) {
      s.check();
      const bool goes_first =
          priority != 0 && (v & Word::kLocked) == 0 && !Head::is_behind(s, v, priority);
      const bool can = Word::can_enter(v) || goes_first;
      const bool joins_others = (v & Word::kReaders) != 0;
      if (!can && !may_bypass(s, v, attempt, joins_others)) return false;
      // acquire: as in read_if_free.
      if (!s.word.compare_exchange(v, Word::without_waiting(v) + Word::kReader, acquire)) continue;
      const std::uint32_t next = EventualAttempt::next_level(attempt);
      // Both relaxed: affects timing only, and may be lost.
      if (!can && joins_others && s.more.level.load(relaxed) < next)
        s.more.level.store(next, relaxed);
      return true;
    }
  }

  // Returns whether the reader may enter although the lock is reserved.
  static bool may_bypass(const State& s, Value v, std::uint32_t attempt,
                         bool joins_others) noexcept {
    if ((v & Word::kLocked) != 0 || !EventualAttempt::is_impatient(attempt, joins_others))
      return false;
    // Here the kernel is asked, because a caller that has not slept yet doesn't know its priority.
    return (v & Word::kRealTime) == 0 || !Head::is_behind(s, v, Head::own_priority());
  }

  // Sleeps until the reader has entered, and returns true, or until its patience has run out or the
  // deadline has passed, and returns false.
  [[gnu::noinline]] static bool wait_to_enter(State& s, std::uint32_t& attempt,
                                              const Deadline* deadline) noexcept {
    Deadline end = P::due(within(deadline, 0)), room{};
    bool requests = EventualAttempt::periods(attempt) != 0 || P::hand_off_after() == 0;
    const Deadline first = requests ? end : P::due(within(&end, P::hand_off_after()));
    for (;;) {
      // Loaded before the word, since a wake-up that comes later changes it. acquire: pairs with
      // release_writer.
      const std::uint32_t wakes = s.more.reader_wakes.load(acquire);
      const Deadline* const until = requests ? &end : &first;
      const bool is_late = !await_release(s, until);
      Value v = s.word.load(relaxed);  // the compare-exchanges decide
      const std::uint32_t priority = Head::own_priority();
      if (enter(s, v, attempt, priority)) return true;
      if (!set_sleep_flags(s, v, requests, priority)) continue;
      const auto was_woken = [wakes](std::uint32_t now) { return now != wakes; };
      // relaxed: the load above acquires.
      if (!is_late &&
          W::sleep(s.more.reader_wakes, relaxed, 0, kReadersChannel, until, was_woken)) {
        if (as_at_first(deadline, room)) end = P::due(*deadline);
        continue;
      }
      if (requests || Head::has_passed(deadline)) break;
      requests = true;
    }
    attempt = EventualAttempt::again(attempt);
    return false;
  }

 private:
  // Waits for a writer that is about to free the lock and wake the readers, if there is one.
  // Returns false if it has not done so by `until`, because it may be preempted.
  static bool await_release(State& s, const Deadline* until) noexcept {
    const auto is_over = [](Value now) { return (now & Word::kWakesReaders) == 0; };
    if (is_over(s.word.load(relaxed))) return true;  // both relaxed: it acquires nothing
    return P::await(Pause::nap, s.word, relaxed, is_over, until);
  }
  // Sets the flags of a reader that sleeps. Returns false if the word isn't v any more.
  static bool set_sleep_flags(State& s, Value v, bool requests, std::uint32_t priority) noexcept {
    const bool asks = requests || (priority != 0 && (v & Word::kRealTime) == 0);
    const Value next = (v & ~Word::kReadersWoken) | (asks ? Word::kPhaseRequested : 0);
    // relaxed: publishes nothing.
    return next == v || s.word.compare_exchange(v, next, relaxed);
  }
};

}  // namespace lockswap
