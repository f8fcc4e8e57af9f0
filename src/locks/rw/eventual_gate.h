// Readers that wait for a lock `eventual` (eventual.h, which has the states, the steps and the
// invariants): how they are counted, sleep at the gate, and come in.
#pragma once

#include <cstdint>

#include "locks/common/eventual_line.h"
#include "locks/rw/eventual_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/pause.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W>
class EventualGate : protected EventualLine<P, W, EventualRwWord> {
 protected:
  using Line = EventualLine<P, W, EventualRwWord>;
  using Word = EventualRwWord;
  using Value = Word::Value;
  using Readers = EventualReaders<P>;
  using Line::more_, Line::check_word, Line::kLocked, Line::word_;

  static constexpr std::uint32_t kGateChannel = 1;

  // Returns 0 if the reader is in, else its attempt: then it is counted as waiting.
  [[gnu::noinline]] std::uint32_t arrive_slowly() noexcept {
    const std::uint32_t level = more_.level.load(relaxed);  // it decides nothing but times
    Value v = word_.load(relaxed);                          // the compare-exchanges decide
    for (unsigned round = 0;;) {
      if (Readers::may_come_in(v)) {
        if (word_.compare_exchange(v, v + Word::kReader, acquire)) return 0;  // as in read_if_open
      } else if ((v & Word::kWaitingReaders) == Word::kWaitingReaders) {
        P::step_aside(round++);
        v = word_.load(relaxed);
        // relaxed: nothing is handed on. A release that does not find this reader comes before it
        // looks in read_wait.
      } else if (word_.compare_exchange(v, v + Word::kWaitingReader, relaxed)) {
        return EventualAttempt::begin(level);
      }
    }
  }

  // Lets a reader in that is counted as waiting, if it may come in. `priority` is its real-time
  // priority: then it doesn't wait for a front of a lower one, or of none, but waits for any other,
  // whatever its patience. Returns false if it has to wait; v is new then.
  bool come_in(Value& v, std::uint32_t attempt, std::uint32_t priority = 0) noexcept {
    for (;;) {
      check_word();
      const bool is_urgent = priority != 0 && (v & kLocked) == 0 && !Line::is_behind(v, priority);
      const bool may = Readers::may_come_in(v) || is_urgent;
      const bool joins = (v & Word::kReaders) != 0;
      if (!may && ((v & kLocked) != 0 || !EventualAttempt::is_impatient(attempt, joins)))
        return false;
      // A caller that has not slept yet doesn't know the priority.
      if (!may && (v & Line::kUrgent) != 0 && Line::is_behind(v, Line::own_priority()))
        return false;
      // acquire: as in read_if_open.
      if (!word_.compare_exchange(v, Readers::without_waiting(v) + Word::kReader, acquire))
        continue;
      const std::uint32_t next = EventualAttempt::next_level(attempt);
      // relaxed, both: it decides nothing but times, and may be lost.
      if (!may && joins && more_.level.load(relaxed) < next) more_.level.store(next, relaxed);
      return true;
    }
  }

  [[gnu::noinline]] bool sleep_at_gate(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    Deadline end = P::due(within(deadline, 0)), room{};
    bool demands = EventualAttempt::periods(attempt) != 0 || P::hand_off_after() == 0;
    const Deadline first = demands ? end : P::due(within(&end, P::hand_off_after()));
    for (;;) {
      // Before the look: a call after the look changes it. acquire: pairs with leave.
      const std::uint32_t gate = more_.gate.load(acquire);
      Value v = word_.load(relaxed);  // the compare-exchanges decide
      bool is_late = false;
      if ((v & Word::kGateCalling) != 0) {
        // A writer is about to free the lock, unless it is stopped.
        const auto is_called = [](Value now) { return (now & Word::kGateCalling) == 0; };
        is_late = !P::await(Pause::nap, word_, relaxed, is_called, demands ? &end : &first);
        v = word_.load(relaxed);
      }
      const std::uint32_t priority = Line::own_priority();
      if (come_in(v, attempt, priority)) return true;
      const bool asks = demands || (priority != 0 && (v & Line::kUrgent) == 0);
      const Value next = (v & ~Word::kGateCalled) | (asks ? Word::kDemand : 0);
      // relaxed: nothing is handed on.
      if (next != v && !word_.compare_exchange(v, next, relaxed)) continue;
      const auto was_called = [gate](std::uint32_t now) { return now != gate; };
      // relaxed: the load above acquires.
      const Deadline* const until = demands ? &end : &first;
      if (!is_late && W::sleep(more_.gate, relaxed, 0, kGateChannel, until, was_called)) {
        if (as_at_first(deadline, room)) end = P::due(*deadline);
        continue;
      }
      if (demands || (deadline != nullptr && P::passed(*deadline))) break;
      demands = true;
    }
    attempt = EventualAttempt::again(attempt);
    return false;
  }
};

}  // namespace lockswap
