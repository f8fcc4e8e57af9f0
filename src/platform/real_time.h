// Threads with real-time policies, which keep others off the processor. The thread itself, or
// another process, may change its policy at any time, so a thread that wants to know it has to
// ask the kernel.
#pragma once

#include <cstdint>
#include <sched.h>

#include "platform/step_aside.h"
#include "platform/syscall.h"

namespace lockswap {

constexpr std::uint32_t kDeadlinePolicy = 6;  // SCHED_DEADLINE, which glibc's header lacks

// Returns whether the kernel runs a thread of this policy before all threads without such a policy,
// for as long as the thread likes.
inline bool is_real_time(std::uint32_t policy) noexcept {
  policy &= ~std::uint32_t{SCHED_RESET_ON_FORK};
  return policy == SCHED_FIFO || policy == SCHED_RR || policy == kDeadlinePolicy;
}

// Returns the priority of the thread with that id, where 0 is the calling one: 1 to 99 under
// SCHED_FIFO and SCHED_RR, 100 under SCHED_DEADLINE, which goes before them, otherwise 0. Also
// returns 0 if seccomp blocks the call, or if the thread is gone.
inline std::uint32_t real_time_priority(std::uint32_t tid) noexcept {
  struct {  // the first version of the kernel's sched_attr
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } a{};
  constexpr std::uint32_t kBeforeAll = 100;
  const long error = raw_syscall(SYS_sched_getattr, static_cast<long>(tid),
                                 reinterpret_cast<long>(&a), sizeof a, 0);
  if (error != 0 || !is_real_time(a.policy)) return 0;
  return a.policy == kDeadlinePolicy ? kBeforeAll : a.priority;
}
inline bool has_real_time_policy() noexcept { return real_time_priority(0) != 0; }

// What such a thread does between two polls of what a thread of lower priority may have to change.
inline void nap_in_real_time() noexcept { nap(50'000); }

}  // namespace lockswap
