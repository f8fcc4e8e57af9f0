// Which process this is, among its ancestors: a lock can see by that that it was last used before a
// fork, so that the threads which waited for it then do not exist here.
//
// A process has a stamp: a number that none of its last 254 ancestors has. It lies in a page that
// the kernel empties in each child (MADV_WIPEONFORK, Linux 4.14), so _Fork and clone are noticed as
// fork is. Where the kernel does not do that, or a filter refuses it, the handler of pthread_atfork
// empties the page.
// A child that shares its parent's memory (vfork, posix_spawn) is no new process here.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/mman.h>

#include "platform/atomic.h"
#include "platform/syscall.h"

namespace lockswap {

class Process {
 public:
  // Stamps have no other bits than these, always kStampTop, and are not 0 without it.
  static constexpr std::uint64_t kStampMask = std::uint64_t{0x1ff} << 31;
  static constexpr std::uint64_t kStampTop = std::uint64_t{1} << 31;
  // A stamp holds a number below this, which differs between ancestors.
  static constexpr std::uint32_t kNumbers = 256;
  static constexpr std::uint32_t number_of(std::uint64_t stamp) noexcept {
    return static_cast<std::uint32_t>(stamp >> kShift) % kNumbers;
  }

  // Whether the word's lower 40 bits are the stamp and nothing else. This costs a subtraction, a
  // shift and a comparison. It is false also in a child that has not asked for its stamp yet.
  static bool is(std::uint64_t word) noexcept {
#if defined(__x86_64__)
    // The relaxed load below and the comparison in one instruction; compilers make two of it.
    bool same;
    asm("cmpq %1, %2" : "=@ccz"(same) : "m"(page_.stamp), "r"(packed(word)));
    return same;
#else
    return packed(word) == page_.stamp.load(relaxed);  // relaxed: it hands nothing on
#endif
  }

  static std::uint64_t stamp() noexcept {
    const std::uint64_t known = page_.stamp.load(relaxed);
    return known != 0 ? unpacked(known) : choose();
  }

  // A number from 1 to 255 that differs from the ancestors', for work that a process does once
  // (latch.h). By the kernel's number where that doesn't empty the page, because a fork may come
  // before there is a handler; then one in 255 may be the parent's.
  static std::uint32_t worker() noexcept {
    const std::uint32_t number = number_of(stamp());
    if (asked_kernel_.load(relaxed) == kEmpties) return number;
    return static_cast<std::uint32_t>(raw_syscall(SYS_getpid)) % (kNumbers - 1) + 1;
  }

  // Another such number, at the price of a load; 0: nobody has asked for the stamp yet.
  static std::uint64_t mark() noexcept { return page_.stamp.load(relaxed); }  // relaxed: as in is

  // Where mark looks, for code that is inlined in programs (lockswap/rlu_inline.h).
  static constexpr const void* mark_word() noexcept { return &page_.stamp; }

  // In a child. Does nothing where the kernel has emptied the page: handlers that ran before this
  // one may have started threads, which use locks.
  static void forked() noexcept {
    if (asked_kernel_.load(relaxed) == kDoesNot) page_.stamp.store(0, relaxed);
  }

 private:
  static constexpr int kShift = 32;
  static constexpr int kUnused = 24;  // bits above a stamp
  // As the page has it. The subtraction keeps a page of zeroes from matching a word of zeroes.
  static constexpr std::uint64_t packed(std::uint64_t word) noexcept {
    return (word - 1) << kUnused;
  }
  static constexpr std::uint64_t unpacked(std::uint64_t v) noexcept { return (v >> kUnused) + 1; }
#if defined(__x86_64__)
  static constexpr std::size_t kPage = 4096;
#else
  static constexpr std::size_t kPage = 65536;          // the largest
#endif

  [[gnu::noinline]] static std::uint64_t choose() noexcept {
    // Before there is a stamp: a child may be forked at any time. A child has inherited the answer,
    // and needs no call. relaxed: threads that come here together ask the same.
    if (asked_kernel_.load(relaxed) == kNotYet) {
      const long error =
          raw_syscall(SYS_madvise, reinterpret_cast<long>(&page_), sizeof page_, MADV_WIPEONFORK);
      asked_kernel_.store(error == 0 ? kEmpties : kDoesNot, relaxed);
    }
    // Threads that get here together take a number each, and one of them is used.
    const std::uint64_t number = last_.fetch_add(1, relaxed) % (kNumbers - 1) + 1;
    std::uint64_t seen = 0;
    const std::uint64_t mine = packed(kStampTop | number << kShift);
    return unpacked(page_.stamp.compare_exchange(seen, mine, relaxed) ? mine : seen);
  }

  struct alignas(kPage) Page {
    NativeAtomic<std::uint64_t> stamp;  // packed
  };
  static inline constinit Page page_{};
  static inline constinit NativeAtomic<std::uint32_t> last_{0};
  // Whether the kernel empties the page in a child.
  enum : std::uint32_t { kNotYet, kEmpties, kDoesNot };
  static inline constinit NativeAtomic<std::uint32_t> asked_kernel_{kNotYet};
};

}  // namespace lockswap
