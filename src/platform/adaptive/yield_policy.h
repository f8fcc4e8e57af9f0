// Decides when a thread that goes on taking and releasing a lock should yield to a waiter that was
// woken for it.
//
// Linux queues a woken thread behind the running one, usually until the next tick. No other queued
// thread is woken before that one has rechecked, so each of them waits for a tick, and the last one
// for as many ticks as there are threads. A thread therefore counts the releases in which it finds
// a woken thread that hasn't rechecked, and yields after kReleases of them, which takes some tenths
// of a millisecond if critical sections are short. If they are long, a tick is no longer than one.
//
// Readers may bypass a woken head waiter, and each time it runs costs them something. So releases
// in which a reader finds one count for less (kHeadReleases).
//
// With a quota of one processor or less threads yield a quarter as often: throughput is then the
// work per CPU-second, and RWBench lost 12 % of that with 8 threads at 50 % writes.
//
// The policy reads no clock, and counts nothing if no thread waits.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/processors.h"
#include "platform/syscall.h"
#include "platform/thread.h"

namespace lockswap {

class YieldPolicy {
 public:
  static constexpr std::uint32_t kReleases = 512, kHeadReleases = 2048;
  static constexpr std::uint32_t kRarer = 4;  // yields are this much rarer with such a quota

  // Called at start-up, and whenever the processors were read again, by one thread at a time.
  // relaxed: it does not matter whether other threads use the old or the new value meanwhile.
  static void adapt(const Processors& p) noexcept {
    most_.store(p.quota_percent <= 100 ? kRarer * kHeadReleases : kHeadReleases, relaxed);
  }
  // Called by a thread that has released such a lock and found that a queued thread (is_queued) or
  // a head waiter was woken.
  static bool should_yield(bool is_queued) noexcept {
    std::uint32_t& counted = per_thread<Count>.counted;
    counted += is_queued ? kHeadReleases / kReleases : 1;
    if (counted < most_.load(relaxed)) return false;  // relaxed: see adapt
    counted = 0;
    return true;
  }
  // seccomp may block the call. Then the tick preempts the thread, as without the policy.
  static void yield() noexcept { raw_syscall(SYS_sched_yield); }

 private:
  struct Count {
    std::uint32_t counted;
  };
  static inline constinit NativeAtomic<std::uint32_t> most_{kHeadReleases};
};

}  // namespace lockswap
