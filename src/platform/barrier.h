// The asymmetric fence, for pairs of which one side is hot. The light side costs nothing; the heavy
// side has the kernel run a full barrier on every processor on which another thread of this process
// runs (membarrier, Linux 4.14). That takes 0.6 us if there is none, and some 12 us otherwise.
//
// seccomp may block the call at any time. From then on the light side pays. The threads whose heavy
// fences fail first have every processor visited (visit.h), which deschedules each thread that ran
// there, so that it then sees that it has to pay. If such visits are blocked too, they sleep for
// many times as long as a store takes to become visible.
#pragma once

#include <cstdint>

#include <linux/membarrier.h>

#include "platform/atomic.h"
#include "platform/scan.h"
#include "platform/step_aside.h"
#include "platform/syscall.h"
#include "platform/visit.h"

namespace lockswap {

class Barrier {
 public:
  // Called at start-up. Returns whether the kernel supports it. Forked children inherit the
  // registration.
  static bool prepare() noexcept {
    return raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  }

  // Orders what is before it with what is after it, against the heavy fences of other threads.
  [[gnu::always_inline]] static void light() noexcept {
    signal_fence();
    if (!works()) [[unlikely]]
      fence(seq_cst);
  }
  static void heavy() noexcept {
    fence(seq_cst);
    // acquire: pairs with the last store in force().
    if (state_.load(acquire) != kReplaced && !call() && !again()) force();
    fence(seq_cst);
  }
  // The same for pairs whose other side must never pay. If the kernel refuses, every processor is
  // visited each time, which takes a while, and false is returned.
  static bool in_all() noexcept {
    fence(seq_cst);
    const bool done = call() || again();
    if (!done) visit();
    fence(seq_cst);
    return done;
  }
  // For tests and reports.
  static bool is_replaced() noexcept { return state_.load(relaxed) == kReplaced; }

 private:
  static bool call() noexcept {
    return raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  }
  // Registers again, because an exec discards the registration, and retries the call. Returns
  // whether that worked.
  static bool again() noexcept { return prepare() && call(); }

  [[gnu::noinline]] static void force() noexcept {
    // seq_cst: a thread that is descheduled below sees the change when it continues. Another thread
    // may have made the change already.
    std::uint32_t works = kWorks;
    state_.compare_exchange(works, kFails, seq_cst);
    visit();
    rest();
    state_.store(kReplaced, release);  // all threads pay now; pairs with heavy()
  }
  // Returns once each running thread has been descheduled once. If that is blocked, sleeps for a
  // while instead.
  [[gnu::noinline]] static void visit() noexcept {
    if (!Visit::all_processors()) rest();
  }
  static void rest() noexcept { nap(20'000'000); }

  static bool works() noexcept {
#if defined(__x86_64__)
    // The load below and the comparison in one instruction, where compilers would emit two.
    bool same;
    asm("cmpl %1, %2" : "=@ccz"(same) : "i"(kWorks), "m"(state_));
    return same;
#else
    return state_.load(relaxed) == kWorks;  // relaxed: see force
#endif
  }

  static constexpr std::uint32_t kWorks = 0;
  static constexpr std::uint32_t kFails = 1;     // threads pay on the light side once they notice
  static constexpr std::uint32_t kReplaced = 2;  // all threads have noticed
  static inline constinit NativeAtomic<std::uint32_t> state_{kWorks};
};

}  // namespace lockswap
