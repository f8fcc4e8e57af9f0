// A small lock for data that is rarely accessed. A waiting thread yields, and later sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockswap/machine.hpp"

/// @cond private
namespace lockswap {

template <class P>
class guard {
 public:
  bool try_lock() noexcept {
    std::uint64_t free = 0;
    return word_.compare_exchange(free, 1, std::memory_order_acquire);  // pairs with unlock
  }
  void lock() noexcept {
    for (unsigned round = 0; !try_lock(); ++round)
      P::step_aside(round);
  }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }  // what it guards

  // Called in a forked child, by its only thread.
  bool is_locked() const noexcept { return word_.load(std::memory_order_relaxed) != 0; }
  void renew() noexcept { word_.store(0, std::memory_order_relaxed); }

 private:
  typename P::template atomic<std::uint64_t> word_{};
};

}  // namespace lockswap
/// @endcond
