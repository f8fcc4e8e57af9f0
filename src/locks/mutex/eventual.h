// eventual: a running thread takes a free lock, and threads that wait get it by rationed hand-offs.
//
// Sources, idea, steps, fairness: common/eventual_line.h, which has all of what waits.
// State (8 bytes, zero = free): the line's word (32 bits: its flags, 22 bits for the number of
//   those that wait in the line), `calls`.
// Invariants: the line's.
// Space: 2^22 waiting threads; more of them yield.
// Deviations: none from the line.
// Destroy is safe: the last access is the compare-exchange of the release; what may follow is a
//   wake of the address.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/eventual_line.h"
#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

struct EventualMutexWord {
  using Value = std::uint32_t;
  static constexpr Value kWaiter = 1u << 10;
  static constexpr Value kWaiters = ~(kWaiter - 1);
  static constexpr Value kReaders = 0;
  static constexpr Value kPhase = 0;
  template <Platform P>
  struct More {};
};

template <Platform P, LineWaitPolicy<P> W>
class EventualMutex : EventualLine<P, W, EventualMutexWord> {
  using Line = EventualLine<P, W, EventualMutexWord>;
  using Line::free, Line::kDoubts, Line::kLocked, Line::word_;

 public:
  static constexpr Claims kClaims{};
  // Exploration has cases for that, in which its times are short.
  static constexpr bool kRationsHandOffs = true;
  static constexpr LockInfo kInfo{
      .summary = "a running thread takes a free lock; waiters get it by rationed hand-offs",
      .source = "eventual fairness as in WebKit's WTF::Lock and parking_lot",
      .fairness = "barging; the oldest waiter is next after LOCKSWAP_HANDOVER_US",
      .takes_back = true,
      .instructions = 51,
  };

  static bool prepare() noexcept { return true; }

  void lock() noexcept {
    if (fast_lock() != 0) slow_lock(0);
  }
  // The two parts of it (FastMutexCore). It leaves nothing undone, so kNotBegun never comes.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  [[gnu::always_inline]] std::uint64_t fast_lock() noexcept {
    std::uint32_t v = 0;
    if (P::is_alone() && word_.compare_exchange_alone(v, kLocked)) [[unlikely]]
      return 0;
    return Line::take_open() ? 0 : 1;
  }
  void slow_lock(std::uint64_t) noexcept { Line::take_slowly(nullptr); }

  bool lock_until(const Deadline* deadline) noexcept {
    return Line::take_open() || Line::take_slowly(deadline);
  }
  bool try_lock() noexcept { return Line::try_take(); }

  // Of a lock that nobody holds: nothing, as glibc's mutex.
  void unlock() noexcept {
    if (fast_unlock() != 0) slow_unlock(1);
  }
  // The two parts of it. The second has the lock still.
  [[gnu::always_inline]] std::uint32_t fast_unlock() noexcept {
    // A look first: while others sleep, as they do for most of the time, an update that must fail
    // would cost as much as the one that frees the lock.
    std::uint32_t v = word_.load(relaxed);  // the compare-exchanges decide
    if (v != kLocked) [[unlikely]]
      return v & kLocked;
    if (P::is_alone() && word_.compare_exchange_alone(v, 0)) [[unlikely]]
      return 0;
    v = kLocked;
    // release: the critical section; pairs with the acquires in the line.
    if (word_.compare_exchange(v, 0, release)) [[likely]]
      return 0;
    return v & kLocked;
  }
  void slow_unlock(std::uint32_t) noexcept { free(); }

  bool idle() const noexcept {
    // acquire: pairs with the release; a thread that sees the lock free may use its memory for
    // something else.
    return word_.load(acquire) == 0;
  }

  // --- in a forked child (LockCore). relaxed: the fork handed on what threads did.
  bool needs_no_repair(bool held) const noexcept {
    return word_.load(relaxed) == (held ? kLocked : 0);
  }
  void repair_after_fork(bool held) noexcept { word_.store(held ? kLocked : 0, relaxed); }
};

}  // namespace lockswap
