// A lock for a few steps that only one thread may take at a time, such as those in a tree.
//
// Idea: test-and-test-and-set. The paper's baselines have the same inside.
// State: 4 bytes, zero = free. A thread waits by the wait policy: with more threads than processors
//   the holder may have been stopped.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class SpinLock {
 public:
  void lock() noexcept {
    while (!try_lock()) {
      // relaxed: try_lock() acquires.
      W::until(word_, relaxed, kSleepers, kChannel, nullptr,
               [](std::uint32_t v) { return (v & kHeld) == 0; });
    }
  }
  void unlock() noexcept {
    // release: the steps; pairs with try_lock().
    if ((word_.exchange(0, release) & kSleepers) != 0) W::wake(&word_, kChannel);
  }

 private:
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kSleepers = 2;  // a thread may sleep. It may stay set
  static constexpr std::uint32_t kChannel = 1;

  bool try_lock() noexcept {
    std::uint32_t v = word_.load(relaxed);  // relaxed: a hint
    // acquire: pairs with unlock().
    return (v & kHeld) == 0 && word_.compare_exchange(v, v | kHeld, acquire);
  }

  typename P::template atomic<std::uint32_t> word_{};
};

}  // namespace lockswap
