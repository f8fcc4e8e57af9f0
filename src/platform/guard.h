// A small lock for a library's own tables. It never spins, sleeps on a futex, and needs no
// start-up. The sections that it guards are short and wait for nothing but another guard.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/futex.h"

namespace lockswap {

class Guard {
 public:
  void lock() noexcept {
    std::uint32_t seen = kFree;
    if (word_.compare_exchange(seen, kTaken, acquire)) return;  // pairs with unlock
    while (word_.exchange(kContended, acquire) != kFree)
      futex_wait(&word_, kContended, ~0u, nullptr);
  }

  void unlock() noexcept {
    if (word_.exchange(kFree, release) == kContended) futex_wake(&word_, ~0u);
  }

 private:
  static constexpr std::uint32_t kFree = 0, kTaken = 1, kContended = 2;
  NativeAtomic<std::uint32_t> word_{};
};

}  // namespace lockswap
