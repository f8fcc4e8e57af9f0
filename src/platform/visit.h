// Visits every processor if the kernel refuses membarrier: a helper thread runs on each in turn, so
// every other thread that ran there has been descheduled, which is a full barrier.
//
// The calling thread itself stays where it is. If it moved, restoring its affinity at the end might
// overwrite one that another thread has set meanwhile, and a signal handler that forks, or leaves
// by longjmp, would keep a mask of one processor.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sched.h>

#include <linux/futex.h>

#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/signals.h"
#include "platform/syscall.h"

namespace lockswap {

class Visit {
 public:
  // Returns false if there was no helper, or the kernel did not let it move.
  static bool all_processors() noexcept {
    void* const stack = map_pages(kStack);
    if (stack == nullptr) return false;
    Visit visit;
    visit.run(stack);
    unmap_pages(stack, kStack);
    return visit.has_moved_;
  }

 private:
  static constexpr std::size_t kStack = 16384;
  static constexpr long kMost = 8192;  // processors
  // The flags of every thread that libc creates, since seccomp may allow no others.
  static constexpr int kLikeAnyThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                                        CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
                                        CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

  // The helper shares this thread's thread-locals. So it must not run a signal handler, and only
  // makes system calls.
  void run(void* stack) noexcept {
    const NoSignals blocked;
    const int error = errno;
    const int made = ::clone(&help, static_cast<std::byte*>(stack) + kStack, kLikeAnyThread, this,
                             &unused_, __builtin_thread_pointer(), &is_there_);
    errno = error;
    if (made < 0) return;
    // acquire: synchronises with the helper; the kernel stores 0 and wakes when it is gone. Not a
    // private wait, since the kernel's wake is not private.
    while (is_there_.load(acquire) != 0)
      raw_syscall(SYS_futex, reinterpret_cast<long>(&is_there_), FUTEX_WAIT, kThere, 0);
  }

  static int help(void* p) noexcept {
    std::uint64_t one[kMost / 64] = {};
    const long size =
        raw_syscall(SYS_sched_getaffinity, 0, sizeof one, reinterpret_cast<long>(one));
    for (std::uint64_t& word : one)
      word = 0;
    for (long cpu = 0; cpu < size * 8; ++cpu) {
      one[cpu / 64] = std::uint64_t{1} << (cpu % 64);
      if (raw_syscall(SYS_sched_setaffinity, 0, size, reinterpret_cast<long>(one)) == 0)
        static_cast<Visit*>(p)->has_moved_ = true;
      one[cpu / 64] = 0;
    }
    return 0;
  }

  static constexpr std::uint32_t kThere = 1;
  NativeAtomic<std::uint32_t> is_there_{kThere};
  int unused_ = 0;
  bool has_moved_ = false;
};

}  // namespace lockswap
