// The processors that the process may use, read again now and then by a thread that goes to sleep.
//
// Sleeps are counted, since a clock would cost more than a counter. A thread that need not sleep
// neither counts nor reads. One thread reads at a time.
#pragma once

#include <cstdint>

#include "platform/adaptive/spins.h"
#include "platform/adaptive/yield_policy.h"
#include "platform/atomic.h"
#include "platform/process.h"
#include "platform/processors.h"
#include "platform/step_aside.h"

namespace lockswap {

class Rereading {
 public:
  using Again = Processors (*)(const Processors& last) noexcept;
  // Sleeps between two readings. A prime, so that threads which sleep in turn read in turn.
  static constexpr std::uint32_t kEvery = 251;

  // Called at start-up, by one thread. `again` is null if nothing is to be read again.
  static void prepare(Again again, const Processors& p) noexcept {
    is_prepared_ = true;
    again_ = again;
    now_ = p;
    sleeps_.store(0, relaxed);
  }
  static bool is_prepared() noexcept { return is_prepared_; }

  // Called by a thread that is about to sleep. relaxed: concurrent increments may be lost.
  static void before_sleep() noexcept {
    if (again_ == nullptr) return;
    const std::uint32_t n = sleeps_.load(relaxed) + 1;
    sleeps_.store(n < kEvery ? n : 0, relaxed);
    if (n >= kEvery) read();
  }

  // Copies what is known now. Waits for a thread that is reading, but not for ever, since a signal
  // handler may have interrupted it there. Returns false if that thread did not finish.
  static bool known(Processors& p) noexcept {
    for (unsigned round = 0; !begin(); ++round) {
      if (round == kMostRounds) return false;
      step_aside(round);
    }
    p = now_;
    end();
    return true;
  }

 private:
  static constexpr unsigned kMostRounds = 64;

  // Gives the calling thread exclusive access; returns false if another one has it. Stores the mark
  // of the process, since a child may be forked while another thread reads.
  static bool begin() noexcept {
    const std::uint64_t mark = Process::mark() | 1;
    std::uint64_t v = reader_.load(relaxed);  // relaxed: the compare-exchange rechecks
    // acquire: pairs with end, so that this thread sees what the last one found.
    return v != mark && reader_.compare_exchange(v, mark, acquire);
  }
  static void end() noexcept { reader_.store(0, release); }  // pairs with begin

  [[gnu::noinline]] static void read() noexcept {
    if (!begin()) return;
    now_ = again_(now_);
    Spins::adapt(now_);
    YieldPolicy::adapt(now_);
    end();
  }

  static inline constinit bool is_prepared_ = false;
  static inline constinit Again again_ = nullptr;
  static inline constinit Processors now_{};
  alignas(64) static inline constinit NativeAtomic<std::uint32_t> sleeps_{};
  static inline constinit NativeAtomic<std::uint64_t> reader_{};  // 0 while nobody reads
};

}  // namespace lockswap
