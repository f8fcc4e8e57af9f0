// ticket: who draws a number gets its turn when that number is shown.
//
// Paper: J. Mellor-Crummey, M. Scott, "Algorithms for scalable synchronization on shared-memory
//   multiprocessors" (ACM TOCS 1991), section 2.2; as a part of cohort locks in D. Dice, V.
//   Marathe, N. Shavit, "Lock cohorting" (PPoPP 2012), section 3.
// Idea: `next` is the number that who comes draws; `shown` the number whose turn it is.
// State (8 bytes, zero = free):
//   next   the next number
//   shown  the number shown (31 bits) | kParked
// Invariants: the lock is free when the two are equal. Only the holder changes the number shown.
// Fairness: first come, first served. A try draws a number only if it is shown already.
// Space: 2^31 waiting threads.
// Deviations: `shown` says whether somebody may sleep. A release wakes those whose number has the
//   next one's remainder by 32, and leaves the flag for the others.
// Destroy is safe: the last access is the compare-exchange of the release; a wake may follow.
//
// Any thread may release it, and contended() tells whether another waits: what a cohort lock asks
// of its global and of its local lock.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

template <class P, class W>
class Ticket {
 public:
  void lock() noexcept {
    // relaxed: a number orders nothing; the line is joined by watching `shown`.
    const std::uint32_t mine = next_.fetch_add(1, relaxed) & kNumber;
    const auto my_turn = [mine](std::uint32_t v) { return number(v) == mine; };
    // acquire, both: pairs with unlock.
    if (my_turn(shown_.load(acquire))) [[likely]]
      return;
    W::until(shown_, acquire, kParked, channel_of(mine), nullptr, my_turn);
  }

  bool try_lock() noexcept {
    // acquire: pairs with unlock. If it is old, `next` has gone on.
    const std::uint32_t turn = number(shown_.load(acquire));
    std::uint32_t next = next_.load(relaxed);
    return (next & kNumber) == turn && next_.compare_exchange(next, next + 1, relaxed);
  }

  void unlock() noexcept {
    std::uint32_t v, turn;
    for (;;) {
      // acquire: who set the flag drew its number before; pairs with the wait policy.
      v = shown_.load(acquire);
      turn = number(v);
      const std::uint32_t waiting = (next_.load(relaxed) - turn - 1) & kNumber;
      const std::uint32_t others = waiting > 1 ? v & kParked : 0;
      // release: the critical section; pairs with lock and try_lock.
      if (shown_.compare_exchange(v, (turn + 1) << kShift | others, release)) break;
    }
    if constexpr (W::kParks) {
      if ((v & kParked) != 0) W::wake(&shown_, channel_of(turn + 1));
    }
  }

  // For the holder: how many threads wait. They will not go away.
  std::uint32_t waiting() const noexcept {
    // relaxed: what is missed has come just now.
    return (next_.load(relaxed) - number(shown_.load(relaxed)) - 1) & kNumber;
  }
  bool contended() const noexcept { return waiting() != 0; }
  bool idle() const noexcept {
    // acquire: pairs with unlock; who sees it free may use its memory for something else.
    const std::uint32_t v = shown_.load(acquire);
    return ((next_.load(relaxed) - number(v)) & kNumber) == 0;
  }

  // --- in a forked child; see recursive.h. relaxed: the fork handed on what threads did.
  // True: it is free, or held if `held`, and nothing else.
  bool is_tidy(bool held) const noexcept {
    const std::uint32_t v = shown_.load(relaxed);
    return (v & kParked) == 0 && ((next_.load(relaxed) - number(v)) & kNumber) == (held ? 1 : 0);
  }
  // Drops who waits, and the holder, if it is not to stay.
  void clear_up(bool held) noexcept {
    const std::uint32_t turn = number(shown_.load(relaxed));
    next_.store(turn + (held ? 1 : 0), relaxed);
    shown_.store(turn << kShift, relaxed);
  }

 private:
  static constexpr std::uint32_t kParked = 1;
  static constexpr int kShift = 1;
  static constexpr std::uint32_t kNumber = ~0u >> kShift;
  static std::uint32_t number(std::uint32_t v) noexcept { return v >> kShift; }
  static std::uint32_t channel_of(std::uint32_t n) noexcept { return 1u << n % 32; }

  typename P::template atomic<std::uint32_t> next_{};
  typename P::template atomic<std::uint32_t> shown_{};
};

}  // namespace lockswap
