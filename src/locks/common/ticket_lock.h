// The ticket lock: a thread draws a number, and holds the lock while that number is shown. The
// mutex `ticket` (mutex/ticket.h), and the global and the local locks of cohorting.h.
//
// Paper: J. Mellor-Crummey, M. Scott, "Algorithms for scalable synchronization on shared-memory
//   multiprocessors" (ACM TOCS 1991), section 2.2; as a part of cohort locks in D. Dice, V.
//   Marathe, N. Shavit, "Lock cohorting" (PPoPP 2012), section 3.
// Idea: `next` is the number that the next thread to come draws; `shown` is the number whose turn
//   it is.
// State (8 bytes, zero = free):
//   next   the next number
//   shown  the number shown (30 bits) | kSleepersWithoutNumber | kSleepers
// Invariants: the lock is free when the two are equal. Only the holder changes the number shown.
// Fairness: first come, first served. A trylock draws a number only if it is already shown. A timed
//   acquisition could not give its number back, so it tries whenever another number is shown, and
//   starves as long as others keep drawing numbers.
// Space: 2^30 waiting threads.
// Deviations: `shown` says whether threads may be asleep. A release clears the flags and wakes the
//   waiters whose number equals the next one modulo 32, or, with kSleepersWithoutNumber, all
//   waiters; the thread that gets the turn sets kSleepers again for the others. Any thread may
//   release the lock, as a cohort's global lock needs it.
// Destroy is safe: the last access is the exchange of the release; a wake may follow.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// kAsksWhetherAlone: it spares atomic updates while the process has one thread.
template <Platform P, WaitPolicy<P> W, bool kAsksWhetherAlone = false>
class TicketLock {
 public:
  void lock() noexcept {
    if (const std::uint64_t arrival = fast_lock(); arrival != 0) slow_lock(arrival);
  }
  // The fast and the slow path of lock (FastMutexCore). The fast one always takes effect, so it
  // never returns kNotBegun.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  [[gnu::always_inline]] std::uint64_t fast_lock() noexcept {
    // relaxed: a number orders nothing; the thread joins the queue by watching `shown`.
    const std::uint32_t mine =
        (is_alone() ? next_.fetch_add_alone(1) : next_.fetch_add(1, relaxed)) & kNumber;
    // acquire: pairs with the release in fast_unlock.
    if (number(shown_.load(acquire)) != mine) [[unlikely]]
      return std::uint64_t{mine} + 1;
    rearm_sleepers(mine);
    return 0;
  }
  void slow_lock(std::uint64_t arrival) noexcept {
    const auto mine = static_cast<std::uint32_t>(arrival - 1);
    const auto my_turn = [mine](std::uint32_t v) { return number(v) == mine; };
    // acquire: pairs with the release in fast_unlock.
    W::until(shown_, acquire, kSleepers, channel_of(mine), nullptr, my_turn);
    rearm_sleepers(mine);
  }

  bool try_lock() noexcept {
    // acquire: pairs with the release in fast_unlock. If it is stale, `next` has advanced.
    const std::uint32_t turn = number(shown_.load(acquire));
    std::uint32_t next = next_.load(relaxed);
    return (next & kNumber) == turn && next_.compare_exchange(next, next + 1, relaxed);
  }

  bool lock_until(const Deadline* deadline) noexcept {
    for (;;) {
      // Before the try: a turn that comes after the try has failed must end the wait. relaxed:
      // try_lock acquires.
      const std::uint32_t turn = number(shown_.load(relaxed));
      if (try_lock()) return true;
      if (P::passed(*deadline)) return false;
      const auto is_over = [turn](std::uint32_t v) { return number(v) != turn; };
      if (!W::until(shown_, relaxed, kSleepersWithoutNumber, kAnyChannel, deadline, is_over))
        return try_lock();
    }
  }

  // Does nothing if nobody holds the lock, as in glibc.
  void unlock() noexcept {
    if (const std::uint32_t rest = fast_unlock(); rest != 0) slow_unlock(rest);
  }
  // The fast and the slow path of unlock.
  [[gnu::always_inline]] std::uint32_t fast_unlock() noexcept {
    // Both relaxed: the number shown is the holder's, and it has drawn one. An RMW: no flag is
    // missed.
    const std::uint32_t turn = number(shown_.load(relaxed));
    if ((next_.load(relaxed) & kNumber) == turn) [[unlikely]]
      return 0;
    std::uint32_t nobody_sleeps = turn << kShift;
    if (is_alone() && shown_.compare_exchange_alone(nobody_sleeps, (turn + 1) << kShift))
        [[unlikely]]
      return 0;
    // release: the critical section; pairs with the acquires in fast_lock, slow_lock and try_lock.
    const std::uint32_t v = shown_.exchange((turn + 1) << kShift, release);
    return W::kParks && (v & (kSleepers | kSleepersWithoutNumber)) != 0 ? v : 0;
  }
  // The lock may be gone.
  void slow_unlock(std::uint32_t before) noexcept {
    W::wake(&shown_,
            (before & kSleepersWithoutNumber) != 0 ? kAnyChannel : channel_of(number(before) + 1));
  }

  // Called by the holder. Returns how many threads wait; none of them will time out.
  std::uint32_t waiting() const noexcept {
    // relaxed: a thread that is missed has only just come.
    return (next_.load(relaxed) - number(shown_.load(relaxed)) - 1) & kNumber;
  }
  bool contended() const noexcept { return waiting() != 0; }
  bool idle() const noexcept {
    // acquire: pairs with the release in fast_unlock; a thread that sees the lock free may use its
    // memory for something else.
    const std::uint32_t v = shown_.load(acquire);
    return ((next_.load(relaxed) - number(v)) & kNumber) == 0;
  }

  // For tests: how many acquisitions there were, those that wait among them. relaxed:
  // nothing depends on it.
  std::uint32_t drawn() const noexcept { return next_.load(relaxed) & kNumber; }

  // --- in a forked child (LockCore). relaxed: fork() orders what threads did.
  bool needs_no_repair(bool held) const noexcept {
    const std::uint32_t v = shown_.load(relaxed);
    return (v & (kSleepers | kSleepersWithoutNumber)) == 0 &&
           ((next_.load(relaxed) - number(v)) & kNumber) == (held ? 1 : 0);
  }
  void repair_after_fork(bool held) noexcept {
    const std::uint32_t turn = number(shown_.load(relaxed));
    next_.store(turn + (held ? 1 : 0), relaxed);
    shown_.store(turn << kShift, relaxed);
  }

 private:
  [[gnu::always_inline]] static bool is_alone() noexcept {
    return kAsksWhetherAlone && P::is_alone();
  }
  static constexpr std::uint32_t kSleepers = 1;               // a thread with a number may sleep
  static constexpr std::uint32_t kSleepersWithoutNumber = 2;  // a thread without one may sleep
  static constexpr int kShift = 2;
  static constexpr std::uint32_t kNumber = ~0u >> kShift;
  static constexpr std::uint32_t kAnyChannel = ~0u;
  static std::uint32_t number(std::uint32_t v) noexcept { return v >> kShift; }
  static std::uint32_t channel_of(std::uint32_t n) noexcept { return 1u << n % 32; }

  // The release that gave this turn woke one thread; others behind it may stay asleep. A sleeper's
  // number is visible here: its release when it fell asleep (in the wait policy) synchronises with
  // the acquire in fast_lock or slow_lock that saw this turn. Later sleepers set the flag.
  void rearm_sleepers(std::uint32_t mine) noexcept {
    P::check([this, mine] { return number(shown_.load(relaxed)) == mine; });
    if constexpr (W::kParks) {
      if (((next_.load(relaxed) - mine) & kNumber) != 1) [[unlikely]]
        shown_.fetch_or(kSleepers, relaxed);
    }
  }

  typename P::template atomic<std::uint32_t> next_{};
  typename P::template atomic<std::uint32_t> shown_{};
};

}  // namespace lockswap
