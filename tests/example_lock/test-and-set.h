// test-and-set: the textbook's mutex, one bit that a thread sets.
// It is not shipped: test_adding_a_lock.py adds it to a copy of the tree, as CONTRIBUTING.md says.
//
// Paper: none; the oldest mutex of all.
// Idea: the thread that finds the bit clear sets it and is in.
// State (4 bytes, zero = free): bit 0 held; bit 1 somebody may sleep.
// Invariants: only the holder clears bit 0.
// Fairness: none.
// Space: no limit.
// Deviations: the bit for sleepers; a release takes it away and wakes all.
// Fork: in a child nobody sleeps, and a holder that is gone loses its bit.
// Destroy is safe: the last access is the exchange of the release; a wake by address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class TestAndSet {
 public:
  static constexpr Claims kClaims{};
  static constexpr LockInfo kInfo{
      .summary = "one bit that a thread sets",
      .source = "textbooks",
      .fairness = "none; waiters can starve",
      .instructions = 62,
  };

  static bool prepare() noexcept { return true; }

  void lock() noexcept {
    if (!try_lock()) lock_slowly(nullptr);
  }
  bool try_lock() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (is_free(v)) {
      if (word_.compare_exchange(v, v | kHeld, acquire)) return true;  // pairs with unlock
    }
    return false;
  }
  bool lock_until(const Deadline* deadline) noexcept { return try_lock() || lock_slowly(deadline); }

  // Does nothing if nobody holds the mutex, as in glibc.
  void unlock() noexcept {
    if (is_free(word_.load(relaxed))) return;
    const std::uint32_t v = word_.exchange(0, release);  // the critical section
    if (W::kParks && (v & kSleepers) != 0) W::wake(&word_, kChannel);
  }

  bool idle() const noexcept { return is_free(word_.load(acquire)); }

  // In a forked child. relaxed: the fork handed on what threads did.
  bool needs_no_repair(bool held) const noexcept {
    return word_.load(relaxed) == (held ? kHeld : 0);
  }
  // One update: a store would bring back a hold that ends meanwhile.
  void repair_after_fork(bool held) noexcept { word_.fetch_and(held ? kHeld : 0, relaxed); }

 private:
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kSleepers = 2;
  static constexpr std::uint32_t kChannel = 1;
  static bool is_free(std::uint32_t v) noexcept { return (v & kHeld) == 0; }

  bool lock_slowly(const Deadline* deadline) noexcept {
    // relaxed: try_lock acquires.
    while (W::until(word_, relaxed, kSleepers, kChannel, deadline, is_free)) {
      if (try_lock()) return true;
    }
    return false;
  }

  typename P::template atomic<std::uint32_t> word_{};
};

}  // namespace lockswap
