// A small lock for the audit's own tables. It never spins, sleeps on a futex, and needs no
// start-up. What it guards is always short and waits for nothing else but another guard.
#pragma once

#include <cstdint>

#include "audit/me.h"
#include "platform/atomic.h"
#include "platform/futex.h"

namespace lockswap::audit {

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

// Marks this thread as busy with bookkeeping. A signal handler that finds its thread busy keeps
// away from all guards, since it could wait for the very thread that it interrupted.
class Busy {
 public:
  Busy() noexcept : was_busy_(me().busy) {
    me().busy = true;
    signal_fence();
  }
  ~Busy() {
    signal_fence();
    me().busy = was_busy_;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool was_busy_;
};

// Holds a guard.
class Section {
 public:
  explicit Section(Guard& guard) noexcept : guard_(guard) { guard_.lock(); }
  ~Section() { guard_.unlock(); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Busy busy_;
  Guard& guard_;
};

}  // namespace lockswap::audit
