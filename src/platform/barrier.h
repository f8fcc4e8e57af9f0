// The asymmetric fence: for pairs of which one side is hot. The light side costs nothing; the heavy
// side has the kernel run a full barrier on every processor where a thread of this process is
// (membarrier, Linux 4.14): 0.6 us if there is none, some 12 us otherwise.
//
// A seccomp filter may forbid the call at any time. From then on the light side pays. The threads
// whose heavy fences fail first have every processor visited (visit.h): each thread that ran there
// has been switched out then, and sees that it has to pay. Where such visits are forbidden too,
// they rest for many times as long as a store takes to be seen.
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
  // Called at start-up. Returns whether the kernel has it. A process that this one forks has it
  // too.
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
    // acquire: pairs with the last store in force.
    if (state_.load(acquire) != kReplaced && !call() && !again()) force();
    fence(seq_cst);
  }
  // The same for pairs whose other side must never pay: every processor is visited whenever
  // the kernel refuses, which takes a while, and false is returned.
  static bool in_all() noexcept {
    fence(seq_cst);
    const bool done = call() || again();
    if (!done) visit();
    fence(seq_cst);
    return done;
  }
  // This is for tests and for reports.
  static bool is_replaced() noexcept { return state_.load(relaxed) == kReplaced; }

 private:
  static bool call() noexcept {
    return raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  }
  // Returns true if the registration was another program's, which exec has replaced, and a new one
  // works.
  static bool again() noexcept { return prepare() && call(); }

  [[gnu::noinline]] static void force() noexcept {
    // seq_cst: a thread that is switched out below sees the change when it goes on. Another thread
    // may have made it already.
    std::uint32_t works = kWorks;
    state_.compare_exchange(works, kFails, seq_cst);
    visit();
    rest();
    state_.store(kReplaced, release);  // all threads pay now; pairs with heavy
  }
  // Each thread that is running has been switched out once. Where that is forbidden, it rests
  // instead.
  [[gnu::noinline]] static void visit() noexcept {
    if (!Visit::all_processors()) rest();
  }
  static void rest() noexcept { nap(20'000'000); }

  static bool works() noexcept {
#if defined(__x86_64__)
    // The load below and the comparison in one instruction; compilers make two of it.
    bool same;
    asm("cmpl %1, %2" : "=@ccz"(same) : "i"(kWorks), "m"(state_));
    return same;
#else
    return state_.load(relaxed) == kWorks;  // relaxed: see force
#endif
  }

  static constexpr std::uint32_t kWorks = 0;
  static constexpr std::uint32_t kFails = 1;     // the light side pays, if it has noticed
  static constexpr std::uint32_t kReplaced = 2;  // it does
  static inline constinit NativeAtomic<std::uint32_t> state_{kWorks};
};

}  // namespace lockswap
