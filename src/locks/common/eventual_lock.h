// A lock that is an eventual wait queue and nothing else: the mutex `eventual` (mutex/eventual.h),
// and the lanes of concurrency restriction (lanes.h).
//
// State and invariants: eventual_word.h, with a word of 32 bits. Fairness: eventual_queue.h.
#pragma once

#include <cstdint>

#include "locks/common/eventual_queue.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

struct EventualLockWord {
  using Value = std::uint32_t;
  static constexpr Value kWaiter = 1u << 11;
  static constexpr Value kWaiters = ~(kWaiter - 1);
  static constexpr Value kReaders = 0;
  static constexpr Value kPhase = 0;
  static constexpr bool kThrottles = true;
  template <Platform P>
  struct More {};
};

// Only threads that waited release a lane, so releases there say nothing about the others.
struct EventualLaneWord : EventualLockWord {
  static constexpr bool kThrottles = false;
};

template <Platform P, LineWaitPolicy<P> W, EventualWord Layout = EventualLockWord>
class EventualLock {
  using Queue = EventualQueue<P, W, Layout>;
  using Word = typename Queue::Word;

 public:
  void lock() noexcept {
    if (fast_lock() != 0) slow_lock(0);
  }
  // The fast and the slow path of lock (FastMutexCore). The fast one always takes effect, so it
  // never returns kNotBegun.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  [[gnu::always_inline]] std::uint64_t fast_lock() noexcept {
    std::uint32_t v = 0;
    if (P::is_alone() && state_.word.compare_exchange_alone(v, Word::kLocked)) [[unlikely]]
      return 0;
    return Queue::take_free(state_) ? 0 : 1;
  }
  void slow_lock(std::uint64_t) noexcept { Queue::take_slowly(state_, nullptr); }

  bool lock_until(const Deadline* deadline) noexcept {
    return Queue::take_free(state_) || Queue::take_slowly(state_, deadline);
  }
  bool try_lock() noexcept { return Queue::try_take(state_); }

  // Does nothing if nobody holds the lock, as in glibc.
  void unlock() noexcept {
    if (fast_unlock() != 0) slow_unlock(1);
  }
  // The fast and the slow path of unlock. When the slow one begins, the lock is still held.
  [[gnu::always_inline]] std::uint32_t fast_unlock() noexcept {
    // Loads first: while others sleep, which is most of the time, a compare-exchange that is bound
    // to fail would cost as much as the one that frees the lock.
    std::uint32_t v = state_.word.load(relaxed);  // the compare-exchanges decide
    if (v != Word::kLocked) [[unlikely]]
      return v & Word::kLocked;
    if (P::is_alone() && state_.word.compare_exchange_alone(v, 0)) [[unlikely]]
      return 0;
    v = Word::kLocked;
    // release: the critical section; pairs with the acquires in the queue.
    if (state_.word.compare_exchange(v, 0, release)) [[likely]]
      return 0;
    return v & Word::kLocked;
  }
  void slow_unlock(std::uint32_t) noexcept { Queue::release_mutex(state_); }

  bool idle() const noexcept {
    // acquire: pairs with the release; a thread that sees the lock free may use its memory for
    // something else.
    return (state_.word.load(acquire) & ~Word::kCounts) == 0;
  }

  // --- in a forked child (LockCore). relaxed: fork() orders what threads did.
  bool needs_no_repair(bool held) const noexcept {
    return state_.word.load(relaxed) == (held ? Word::kLocked : 0);
  }
  void repair_after_fork(bool held) noexcept {
    state_.word.store(held ? Word::kLocked : 0, relaxed);
  }

 private:
  typename Queue::State state_;
};

}  // namespace lockswap
