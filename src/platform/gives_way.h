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
// It reads no clock, and counts nothing where no thread waits.
#pragma once

#include <cstdint>

#include "platform/syscall.h"
#include "platform/thread.h"

namespace lockswap {

class GivesWay {
 public:
  static constexpr std::uint32_t kReleases = 512, kFrontReleases = 2048;

  // Of a thread that has released such a lock. `called`: it found a called thread; else a front.
  static bool is_time(bool called) noexcept {
    std::uint32_t& counted = per_thread<Count>.counted;
    counted += called ? kFrontReleases / kReleases : 1;
    if (counted < kFrontReleases) return false;
    counted = 0;
    return true;
  }
  // A filter may refuse the call. Then the tick comes, as without it.
  static void yield() noexcept { raw_syscall(SYS_sched_yield); }

 private:
  struct Count {
    std::uint32_t counted;
  };
};

}  // namespace lockswap
