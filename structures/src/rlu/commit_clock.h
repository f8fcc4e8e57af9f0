// The global clock: the number of commits that have taken effect.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), sections 3.4 and 3.5, lines 45 and 46.
// Idea: a commit draws a number, publishes that its copies are valid from the next time on, waits
//   for its turn, and moves the clock to that time. This is a ticket lock whose now-serving number
//   is the clock.
// State (zero at first): `next`, the next number, and `now`, the time. With 64 bits and a commit
//   each nanosecond, the clock lasts 584 years. What is decided in turns lies beside `now`.
// Invariants: now <= next. Each time belongs to one commit, which sets its write clock before that
//   time comes.
// Deviations: in the pseudo-code a commit sets its write clock to the clock plus 1, and then
//   increments the clock. Two concurrent commits may take the same time. A section that begins
//   between the two increments reads some objects of the second commit as they were (before the
//   write clock was set) and others as they will be: a torn snapshot. Drawing numbers gives each
//   commit its own time.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/section_fence.h"

namespace lockswap::rlu {

template <Platform P>
class CommitClock {
 public:
  using Word = typename P::template atomic<std::uint64_t>;

  constexpr const Word& now() const noexcept { return now_; }
  constexpr SectionFence<P>& fence() noexcept { return fence_; }

  // Returns the time at which the commit will take effect. Never 0.
  std::uint64_t draw() noexcept {
    return next_.fetch_add(1, relaxed) + 1;  // relaxed: the number orders nothing
  }
  // Lets the commit take effect. Threads that begin to read at that time see what this thread did
  // before. Returns whether sections have fences, so that the commit needs no barrier.
  bool move_to(std::uint64_t time) noexcept {
    // acquire: pairs with the store of the commit before, which so is handed on.
    P::await(Pause::nap, now_, acquire, [time](std::uint64_t t) { return t == time - 1; });
    P::check(
        [this, time] { return time == now_.load(relaxed) + 1 && time <= next_.load(relaxed); });
    const bool fenced = fence_.in_turn(time);
    now_.store(time, release);  // pairs with ClockRows::begin
    return fenced;
  }
  // The turn of a time at which nothing takes effect, for f(), if no other thread waits for its
  // own.
  template <class F>
  void try_turn(const F& f) noexcept {
    std::uint64_t time = now_.load(acquire);  // pairs with move_to, as there
    // relaxed: a number orders nothing.
    if (!next_.compare_exchange(time, time + 1, relaxed)) return;
    f();
    now_.store(time + 1, release);  // pairs with ClockRows::begin
  }
  // Returns whether that time has come. For a commit whose thread does not exist any more.
  bool has_come(std::uint64_t time) const noexcept {
    return now_.load(relaxed) >= time;  // relaxed: the fork has handed it on
  }
  // Called in a forked child before it draws: the numbers of threads that are gone are drawn again.
  void forked() noexcept {
    next_.store(now_.load(relaxed), relaxed);  // relaxed: no other thread draws yet
  }

 private:
  Word next_{};
  alignas(64) Word now_{};  // every reader loads it, and the next one
  SectionFence<P> fence_{};
};

}  // namespace lockswap::rlu
