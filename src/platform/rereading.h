// The processors that the process has, read again now and then by a thread that goes to sleep.
//
// Sleeps are counted, since a clock would cost more than the count. A thread that need not sleep
// neither counts nor reads. One thread reads at a time.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/process.h"
#include "platform/processors.h"
#include "platform/spins.h"

namespace lockswap {

class Rereading {
 public:
  using Again = Processors (*)(const Processors& last) noexcept;
  // Sleeps from one reading to the next: a prime, so that threads that sleep in turn read in turn.
  static constexpr std::uint32_t kEvery = 251;

  // At start-up, by one thread. nullptr: nothing is read again.
  static void prepare(Again again, const Processors& p) noexcept {
    is_prepared_ = true;
    again_ = again;
    now_ = p;
    sleeps_.store(0, relaxed);
  }
  static bool is_prepared() noexcept { return is_prepared_; }

  // By a thread that is about to sleep. relaxed: what two threads count at once may be lost.
  static void before_sleep() noexcept {
    if (again_ == nullptr) return;
    const std::uint32_t n = sleeps_.load(relaxed) + 1;
    sleeps_.store(n < kEvery ? n : 0, relaxed);
    if (n >= kEvery) read();
  }

  // What is known now, by one thread.
  static const Processors& known() noexcept { return now_; }

 private:
  [[gnu::noinline]] static void read() noexcept {
    // The mark of the process: a child may be forked while another thread reads.
    const std::uint64_t mark = Process::mark() | 1;
    std::uint64_t v = reader_.load(relaxed);  // relaxed: the update looks again
    // acquire: pairs with the release below, so that this thread has what the last one found.
    if (v == mark || !reader_.compare_exchange(v, mark, acquire)) return;
    now_ = again_(now_);
    Spins::adapt(now_);
    reader_.store(0, release);
  }

  static inline constinit bool is_prepared_ = false;
  static inline constinit Again again_ = nullptr;
  static inline constinit Processors now_{};
  alignas(64) static inline constinit NativeAtomic<std::uint32_t> sleeps_{};
  static inline constinit NativeAtomic<std::uint64_t> reader_{};  // 0: nobody reads
};

}  // namespace lockswap
