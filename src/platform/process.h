// Identifies this process among its ancestors. From that a lock can tell that it was last used
// before a fork, so that the threads which waited for it then do not exist here.
//
// The stamp is a fork generation: a number that none of the last 254 ancestors has. It lies in a
// page that the kernel zeroes in each child (MADV_WIPEONFORK, Linux 4.14), so _Fork and clone are
// noticed like fork. If the kernel does not do that, or seccomp blocks the call, the handler of
// pthread_atfork zeroes the page.
// The seal is a per-process tag: a stamp with 24 random bits above it. Objects can lie in a file or
// in shared memory, so an unrelated process may have written them, or a sibling with the same
// stamp. For the same reason the first process of a family begins at a random number.
// A child that shares its parent's memory (vfork, posix_spawn) does not count as a new process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sys/auxv.h>
#include <sys/mman.h>

#include "platform/atomic.h"
#include "platform/syscall.h"
#include "platform/system_tid.h"

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

  // Returns whether the word's lower 40 bits are the stamp and nothing else. This costs a
  // subtraction, a shift and a comparison. It is false also in a child that has not asked for its
  // stamp yet.
  static bool is(std::uint64_t word) noexcept {
    return page_.stamp.is(packed(word));  // it publishes nothing
  }

  static std::uint64_t stamp() noexcept {
    const std::uint64_t known = page_.stamp.load(relaxed);
    return known != 0 ? unpacked(known) : choose();
  }

  // Returns a number from 1 to 255 that differs from the ancestors', for work that a process does
  // once (latch.h). If the kernel doesn't zero the page, it is computed from the process id, since
  // a fork may come before there is a handler; then it is the parent's with probability 1/255.
  static std::uint32_t worker() noexcept {
    const std::uint32_t number = number_of(stamp());
    if (asked_kernel_.load(relaxed) == kEmpties) return number;
    return static_cast<std::uint32_t>(raw_syscall(SYS_getpid)) % (kNumbers - 1) + 1;
  }

  // Returns the stamp with random bits in 40 to 63, by which it differs from all other processes.
  static std::uint64_t seal() noexcept {
    if (page_.seal.load(relaxed) == 0) choose();
    return page_.seal.load(relaxed);
  }
  // Returns whether the word is the seal and nothing else, by one comparison. In a child that has
  // not asked for its stamp yet, only 0 is.
  static bool is_seal(std::uint64_t word) noexcept { return page_.seal.is(word); }

  // is_ancestor_seal returns whether it is the seal of one of the last 254 ancestors, is_ancestor
  // whether it may be the stamp of one. Both ignore the top bit.
  static bool is_ancestor_seal(std::uint64_t seal) noexcept {
    const std::uint64_t known = ancestor(number_of(seal));
    return known != 0 && (seal | kStampTop) == known;
  }
  static bool is_ancestor(std::uint64_t stamp) noexcept { return ancestor(number_of(stamp)) != 0; }

  // Returns another such number, at the cost of a load, or 0 if nobody has asked for the stamp yet.
  static std::uint64_t mark() noexcept { return page_.stamp.load(relaxed); }  // relaxed: as in is

  // The word that mark() loads, for code that is inlined in programs (lockswap/rlu_inline.h).
  static constexpr const void* mark_word() noexcept { return &page_.stamp; }

  // Called in a child. Does nothing if the kernel has zeroed the page: fork handlers that ran
  // earlier may have started threads, which use locks.
  static void forked() noexcept {
    if (asked_kernel_.load(relaxed) == kDoesNot) page_.seal.store(0, relaxed);
    if (asked_kernel_.load(relaxed) == kDoesNot) page_.stamp.store(0, relaxed);
  }

 private:
  static constexpr int kShift = 32;
  static constexpr int kStampBits = 40;
  static constexpr int kUnused = 24;  // bits above a stamp
  // A stamp as the page contains it. The subtraction keeps a zeroed page from matching a word of 0.
  static constexpr std::uint64_t packed(std::uint64_t word) noexcept {
    return (word - 1) << kUnused;
  }
  static constexpr std::uint64_t unpacked(std::uint64_t v) noexcept { return (v >> kUnused) + 1; }
#if defined(__x86_64__)
  static constexpr std::size_t kPage = 4096;
#else
  static constexpr std::size_t kPage = 65536;  // the largest
#endif

  [[gnu::noinline]] static std::uint64_t choose() noexcept {
    // Done before there is a stamp, since a fork may come at any time. A child inherits the answer
    // and needs no call. relaxed: threads that get here together get the same answer.
    if (asked_kernel_.load(relaxed) == kNotYet) {
      const long error =
          raw_syscall(SYS_madvise, reinterpret_cast<long>(&page_), sizeof page_, MADV_WIPEONFORK);
      asked_kernel_.store(error == 0 ? kEmpties : kDoesNot, relaxed);
    }
    const std::uint64_t random = random_bits();
    // All children continue numbering from here.
    std::uint32_t none = 0;
    last_.compare_exchange(none, static_cast<std::uint32_t>(random) % kNumbers + 1, relaxed);
    // Threads that get here together take a number each, and that of the first seal is used.
    const std::uint64_t number = last_.fetch_add(1, relaxed) % (kNumbers - 1) + 1;
    std::uint64_t sealed = 0;
    const std::uint64_t mine =
        (random & ~std::uint64_t{0} << kStampBits) | kStampTop | number << kShift;
    if (page_.seal.compare_exchange(sealed, mine, relaxed)) sealed = mine;
    seals_[number_of(sealed)].store(sealed, relaxed);
    const std::uint64_t stamp = packed(sealed & kStampMask);
    page_.stamp.store(stamp, relaxed);
    return unpacked(stamp);
  }
  // Returns the seal of the ancestor with that number, or 0 if there is none.
  static std::uint64_t ancestor(std::uint32_t number) noexcept {
    const std::uint64_t its = seals_[number].load(relaxed);  // relaxed: fork() makes it visible
    return its == seal() ? 0 : its;
  }
  // Mixes the random bytes that the kernel passes to a program with the thread's id, by which
  // children differ. The time would do, too, but seccomp may block reading the clock.
  static std::uint64_t random_bits() noexcept {
    std::uint64_t bits = 0;
    if (const auto* at_start = reinterpret_cast<const void*>(getauxval(AT_RANDOM)))
      std::memcpy(&bits, at_start, sizeof bits);
    bits += std::uint64_t{system_thread_id()} << 32;
    // The last steps of MurmurHash3, after which every bit depends on all.
    bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdu;
    bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53u;
    return bits ^ bits >> 33;
  }

  struct alignas(kPage) Page {
    NativeAtomic<std::uint64_t> stamp;  // packed
    NativeAtomic<std::uint64_t> seal;
  };
  static inline constinit Page page_{};
  static inline constinit NativeAtomic<std::uint32_t> last_{0};
  // The seals of this process and its ancestors, by their numbers.
  static inline constinit NativeAtomic<std::uint64_t> seals_[kNumbers]{};
  // Whether the kernel zeroes the page in a child.
  enum : std::uint32_t { kNotYet, kEmpties, kDoesNot };
  static inline constinit NativeAtomic<std::uint32_t> asked_kernel_{kNotYet};
};

}  // namespace lockswap
