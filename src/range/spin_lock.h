// A lock for short critical sections, such as updates of a tree.
//
// Idea: test-and-test-and-set, as inside the paper's baselines.
// State: 4 bytes, zero = free; the stamp of the holder's process. A thread waits by the wait
//   policy, because with more threads than processors the holder may be preempted.
// Fork: a child takes over a lock that another thread held, and lock() returns true, because that
//   thread may have stopped in the middle of its updates.
#pragma once

#include <bit>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class SpinLock {
 public:
  // Returns true if the holder was a thread that exists only in the parent process.
  bool lock() noexcept {
    const std::uint32_t mine = kHeld | static_cast<std::uint32_t>(P::process() >> kStampAt);
    for (;;) {
      std::uint32_t v = word_.load(relaxed);  // relaxed: a hint
      const bool orphaned = (v & kHeld) != 0 && (v & ~kSleepers) != mine;
      if ((v & kHeld) == 0 || orphaned) {
        // acquire: pairs with unlock().
        if (word_.compare_exchange(v, mine | (v & kSleepers), acquire)) return orphaned;
      }
      // relaxed: the compare-exchange acquires.
      W::until(word_, relaxed, kSleepers, kChannel, nullptr,
               [](std::uint32_t w) { return (w & kHeld) == 0; });
    }
  }
  void unlock() noexcept {
    // release: the critical section; pairs with lock().
    if ((word_.exchange(0, release) & kSleepers) != 0) W::wake(&word_, kChannel);
  }

 private:
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kSleepers = 2;  // a thread may sleep; may stay set
  static constexpr std::uint32_t kChannel = 1;
  // A stamp is shifted down so that its lowest bit comes just above these two.
  static constexpr int kStampAt = std::countr_zero(P::kStampMask) - 2;

  typename P::template atomic<std::uint32_t> word_{};
};

}  // namespace lockswap
