// Lets other threads run, for a thread that waits for what one of them is about to do.
//
// seccomp may block the calls. If one is blocked, the next is tried, and the last one is futex,
// which no lock does without.
#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>

#include "platform/syscall.h"

namespace lockswap {

// Sleeps for that many nanoseconds, which must be below a second, or until a signal comes.
inline void nap(long nanoseconds) noexcept {
  const timespec time{0, nanoseconds};
  const long error = raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&time), 0);
  if (error == 0 || error == -EINTR) return;
  const std::uint32_t nobody = 0;  // no thread wakes it: no pointer to it leaves this function
  raw_syscall(SYS_futex, reinterpret_cast<long>(&nobody), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0,
              reinterpret_cast<long>(&time));
}

inline void yield_processor() noexcept {
  constexpr long kShort = 1000;  // ns; with the timer's slack some 60 us
  if (raw_syscall(SYS_sched_yield) != 0) nap(kShort);
}

// The rounds of a wait count from 0: at first the thread yields, then it sleeps for longer and
// longer, so that a thread of lower priority gets to run.
inline void step_aside(unsigned round) noexcept {
  constexpr unsigned kYields = 16;
  if (round < kYields) {
    yield_processor();
  } else {
    nap(1'000L << (round < kYields + 6 ? 4 + round - kYields : 10));  // 16 us, doubling up to 1 ms
  }
}

}  // namespace lockswap
