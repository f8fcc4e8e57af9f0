// Threads with real-time policies, which keep others off the processor.
#pragma once

#include <sched.h>

#include "platform/step_aside.h"
#include "platform/syscall.h"

namespace lockswap {

// Whether the kernel runs a thread of this policy before all that have no such one, for as long as
// the thread likes.
inline bool is_real_time(long policy) noexcept {
  constexpr long kDeadline = 6;  // SCHED_DEADLINE, which glibc's header lacks
  policy &= ~long{SCHED_RESET_ON_FORK};
  return policy == SCHED_FIFO || policy == SCHED_RR || policy == kDeadline;
}
// A system call, since policies change; where that is refused: no.
inline bool has_real_time_policy() noexcept {
  const long policy = raw_syscall(SYS_sched_getscheduler, 0);
  return policy >= 0 && is_real_time(policy);
}

// What such a thread does between two looks at what a thread of lower priority may have to change.
inline void nap_in_real_time() noexcept { nap(50'000); }

}  // namespace lockswap
