// Real-time policies. A thread's policy may change at any time, by its own doing or another
// process's, so a thread that wants to know it asks.
#pragma once

#include <cstdint>

#include "platform/syscall.h"

namespace lockswap {

// 1 to 99 under SCHED_FIFO and SCHED_RR, 100 under SCHED_DEADLINE, which goes before them; else 0,
// also if the kernel does not answer (a filter, a thread that is gone).
inline std::uint32_t realtime_priority(std::uint32_t tid) noexcept {
  struct {  // the kernel's sched_attr, as it was at first
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } a{};
  constexpr std::uint32_t kFifo = 1, kRoundRobin = 2, kDeadline = 6;
  constexpr std::uint32_t kBeforeAll = 100;
  const long error = raw_syscall(SYS_sched_getattr, static_cast<long>(tid),
                                 reinterpret_cast<long>(&a), sizeof a, 0);
  if (error != 0) return 0;
  if (a.policy == kDeadline) return kBeforeAll;
  return a.policy == kFifo || a.policy == kRoundRobin ? a.priority : 0;
}

}  // namespace lockswap
