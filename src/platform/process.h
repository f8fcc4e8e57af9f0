// Which process this is, among its ancestors: a lock can see by that that it was last used before a
// fork, so that the threads which waited for it then do not exist here.
//
// A process has a stamp: a number that none of its last 254 ancestors has. It lies in a page that
// the kernel empties in each child (MADV_WIPEONFORK, Linux 4.14), so _Fork and clone are noticed as
// fork is. Where the kernel does not do that, or a filter refuses it, the handler of pthread_atfork
// empties the page.
// The seal is a stamp with 24 random bits above it. Objects can lie in a file, or in memory that is
// shared, so a process that is no relative may have written them, or a sibling with the same stamp.
// For the same reason the first process of a family begins at a random number.
// A child that shares its parent's memory (vfork, posix_spawn) is no new process here.
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
    return page_.stamp.is(packed(word));  // it hands nothing on
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

  // The stamp, and random bits in 40 to 63, by which it differs from all other processes.
  static std::uint64_t seal() noexcept {
    if (page_.seal.load(relaxed) == 0) choose();
    return page_.seal.load(relaxed);
  }
  // Returns whether the word is that and nothing else: one comparison. In a child that has not
  // asked for its stamp yet, no word is but 0.
  static bool is_seal(std::uint64_t word) noexcept { return page_.seal.is(word); }

  // Returns whether it is the seal of one of the last 254 ancestors; of a stamp, whether it may be
  // one's. The top bit does not count.
  static bool is_ancestor_seal(std::uint64_t seal) noexcept {
    const std::uint64_t known = ancestor(number_of(seal));
    return known != 0 && (seal | kStampTop) == known;
  }
  static bool is_ancestor(std::uint64_t stamp) noexcept { return ancestor(number_of(stamp)) != 0; }

  // Another such number, at the price of a load; 0: nobody has asked for the stamp yet.
  static std::uint64_t mark() noexcept { return page_.stamp.load(relaxed); }  // relaxed: as in is

  // Where mark looks, for code that is inlined in programs (lockswap/rlu_inline.h).
  static constexpr const void* mark_word() noexcept { return &page_.stamp; }

  // In a child. Does nothing where the kernel has emptied the page: handlers that ran before this
  // one may have started threads, which use locks.
  static void forked() noexcept {
    if (asked_kernel_.load(relaxed) == kDoesNot) page_.seal.store(0, relaxed);
    if (asked_kernel_.load(relaxed) == kDoesNot) page_.stamp.store(0, relaxed);
  }

 private:
  static constexpr int kShift = 32;
  static constexpr int kStampBits = 40;
  static constexpr int kUnused = 24;  // bits above a stamp
  // As the page has it. The subtraction keeps a page of zeroes from matching a word of zeroes.
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
    // Before there is a stamp: a child may be forked at any time. A child has inherited the answer,
    // and needs no call. relaxed: threads that come here together ask the same.
    if (asked_kernel_.load(relaxed) == kNotYet) {
      const long error =
          raw_syscall(SYS_madvise, reinterpret_cast<long>(&page_), sizeof page_, MADV_WIPEONFORK);
      asked_kernel_.store(error == 0 ? kEmpties : kDoesNot, relaxed);
    }
    const std::uint64_t random = random_bits();
    // Numbers go on from here in all children.
    std::uint32_t none = 0;
    last_.compare_exchange(none, static_cast<std::uint32_t>(random) % kNumbers + 1, relaxed);
    // Threads that get here together take a number each, and the one of the first seal is used.
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
  // The seal of the ancestor with that number; 0: there is none.
  static std::uint64_t ancestor(std::uint32_t number) noexcept {
    const std::uint64_t its = seals_[number].load(relaxed);  // relaxed: it comes with the fork
    return its == seal() ? 0 : its;
  }
  // What the kernel gave the program at its start, and the thread's id, by which children differ.
  // The time would do, too, but a program may have forbidden itself to read the clock.
  static std::uint64_t random_bits() noexcept {
    std::uint64_t bits = 0;
    if (const auto* at_start = reinterpret_cast<const void*>(getauxval(AT_RANDOM)))
      std::memcpy(&bits, at_start, sizeof bits);
    bits += std::uint64_t{system_thread_id()} << 32;
    // The last steps of MurmurHash3: every bit depends on all.
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
  // This process's and its ancestors', by their numbers.
  static inline constinit NativeAtomic<std::uint64_t> seals_[kNumbers]{};
  // Whether the kernel empties the page in a child.
  enum : std::uint32_t { kNotYet, kEmpties, kDoesNot };
  static inline constinit NativeAtomic<std::uint32_t> asked_kernel_{kNotYet};
};

}  // namespace lockswap
