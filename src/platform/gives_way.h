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
// It reads no clock, and counts nothing where no thread waits.
#pragma once

#include <cstdint>

#include "platform/syscall.h"
#include "platform/thread.h"

namespace lockswap {

class GivesWay {
 public:
  static constexpr std::uint32_t kReleases = 512;

  // Of a thread that has released such a lock.
  static bool is_time() noexcept { return ++per_thread<Count>.releases % kReleases == 0; }
  // A filter may refuse the call. Then the tick comes, as without it.
  static void yield() noexcept { raw_syscall(SYS_sched_yield); }

 private:
  struct Count {
    std::uint32_t releases;
  };
};

}  // namespace lockswap
