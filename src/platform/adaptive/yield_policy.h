// When a thread that goes on taking and releasing a lock lets one run that it, or another, has
// woken for that lock.
//
// Linux puts a woken thread behind the one that runs there, as a rule until the next tick. Where no
// other thread of a line is called before that one has looked, each of them waits for a tick, and
// the last one for as many ticks as there are threads. So a thread counts the releases in which it
// finds a called thread that has not looked, and yields its processor after one in kReleases of
// them: some tenths of a millisecond where sections are short. Where they are long a tick is no
// longer than a section.
//
// Readers may go on past a woken front, and lose by each of its turns. So the releases in which a
// reader finds one count for less (kFrontReleases).
//
// With a quota of one processor or less it yields a quarter as often: the program's rate is that
// for each CPU-second then, of which RWBench lost 12 % with 8 threads at 50 % writes.
//
// It reads no clock, and counts nothing where no thread waits.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/processors.h"
#include "platform/syscall.h"
#include "platform/thread.h"

namespace lockswap {

class GivesWay {
 public:
  static constexpr std::uint32_t kReleases = 512, kFrontReleases = 2048;
  static constexpr std::uint32_t kRarer = 4;  // with such a quota

  // At start-up, and whenever the processors were read again: by one thread at a time. relaxed:
  // other threads count to either value meanwhile.
  static void adapt(const Processors& p) noexcept {
    most_.store(p.quota_percent <= 100 ? kRarer * kFrontReleases : kFrontReleases, relaxed);
  }
  // Of a thread that has released such a lock. `called`: it found a called thread; else a front.
  static bool is_time(bool called) noexcept {
    std::uint32_t& counted = per_thread<Count>.counted;
    counted += called ? kFrontReleases / kReleases : 1;
    if (counted < most_.load(relaxed)) return false;  // relaxed: see adapt
    counted = 0;
    return true;
  }
  // A filter may refuse the call. Then the tick comes, as without it.
  static void yield() noexcept { raw_syscall(SYS_sched_yield); }

 private:
  struct Count {
    std::uint32_t counted;
  };
  static inline constinit NativeAtomic<std::uint32_t> most_{kFrontReleases};
};

}  // namespace lockswap
