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
// Deviations: `shown` says whether somebody may sleep. A release takes the flag away and wakes
// those
//   whose number has the next one's remainder by 32; who gets the turn sets it again for the
//   others.
// Destroy is safe: the last access is the exchange of the release; a wake may follow.
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
    if (!my_turn(shown_.load(acquire))) [[unlikely]]
      W::until(shown_, acquire, kParked, channel_of(mine), nullptr, my_turn);
    if constexpr (W::kParks) {
      // The release that gave this turn woke one thread; others behind it may sleep on. The number
      // of a sleeper is seen here: it lay down (release) before that turn was given (acquire). Who
      // lies down later sets the flag himself.
      if (((next_.load(relaxed) - mine) & kNumber) != 1) shown_.fetch_or(kParked, relaxed);
    }
  }

  bool try_lock() noexcept {
    // acquire: pairs with unlock. If it is old, `next` has gone on.
    const std::uint32_t turn = number(shown_.load(acquire));
    std::uint32_t next = next_.load(relaxed);
    return (next & kNumber) == turn && next_.compare_exchange(next, next + 1, relaxed);
  }

  void unlock() noexcept {
    // relaxed: the number is the holder's. An update: the flag is not missed.
    const std::uint32_t next = number(shown_.load(relaxed)) + 1;
    // release: the critical section; pairs with lock and try_lock.
    const std::uint32_t v = shown_.exchange(next << kShift, release);
    if constexpr (W::kParks) {
      if ((v & kParked) != 0) W::wake(&shown_, channel_of(next));
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

  // For tests: how many acquisitions there were, those that wait among them. relaxed: as above.
  std::uint32_t drawn() const noexcept { return next_.load(relaxed) & kNumber; }

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
