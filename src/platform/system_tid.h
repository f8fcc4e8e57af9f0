// The kernel's id of the calling thread, without a call of the kernel, which a filter may refuse.
//
// glibc knows it, also right after a fork, and writes it into each mutex that looks at its owner.
// So what debuggers find in our locks is what they find in glibc's, if it is read where glibc reads
// it, each time: a child that a program makes by a raw clone may put its own id there later.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "platform/atomic.h"
#include "platform/identity.h"
#include "platform/libc_functions.h"
#include "platform/object_layout.h"
#include "platform/syscall.h"
#include "platform/system_mutex.h"

namespace lockswap {

// The word in each thread's memory that has its id: glibc's, or a copy of our own.
class TidWord {
 public:
  // Called once, at start-up, with what glibc records for debuggers about its thread descriptor:
  // where the id is (its bits, 1, its offset), and the descriptor's size. The thread pointer points
  // to the descriptor or behind it. If the word there isn't this thread's id, or glibc doesn't say,
  // the word stays our own.
  static void find(const std::uint32_t* field, const std::uint32_t* size) noexcept {
    if (field == nullptr || size == nullptr || field[0] != 32 || field[1] != 1) return;
#if defined(__x86_64__)
    const std::intptr_t place = field[2];
#else
    const std::intptr_t place = std::intptr_t{field[2]} - std::intptr_t{*size};
#endif
    if (field[2] > *size - sizeof(std::uint32_t) || place % alignof(std::uint32_t) != 0) return;
    const long id = raw_syscall(SYS_gettid);
    const std::uint32_t expected = id > 0 ? static_cast<std::uint32_t>(id) : owner_in_mutex();
    if (expected != 0 && at(place) == expected) place_.store(place, relaxed);
  }

  static bool is_known() noexcept { return place_.load(relaxed) != 0; }
  // Unless it is known: it is this word, a thread-local variable, of each thread.
  static void is_here(const std::uint32_t* word) noexcept {
    if (!is_known()) place_.store(distance(word), relaxed);
  }
  static bool is_this(const std::uint32_t* word) noexcept {
    return place_.load(relaxed) == distance(word);
  }

  [[gnu::always_inline]] static std::uint32_t read() noexcept { return at(place_.load(relaxed)); }

  // In a mutex of glibc's own. 0: it doesn't show it.
  static std::uint32_t owner_in_mutex() noexcept {
    // This kind is never elided, which would leave the owner out.
    pthread_mutex_t mine = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    const MutexOps& real = libc_functions.mutex;
    if (real.lock == nullptr || real.lock(&mine) != 0) return 0;
    const auto id = static_cast<std::uint32_t>(mine.__data.__owner);
    real.unlock(&mine);
    return id;
  }

 private:
  static std::intptr_t distance(const std::uint32_t* word) noexcept {
    return reinterpret_cast<std::intptr_t>(word) - static_cast<std::intptr_t>(thread_identity());
  }
  [[gnu::always_inline]] static std::uint32_t at(std::intptr_t place) noexcept {
#if defined(__x86_64__)
    // One instruction; C++ has no way to say it.
    std::uint32_t id;
    asm("movl %%fs:(%1), %0" : "=r"(id) : "r"(place));
    return id;
#else
    const auto address = static_cast<std::intptr_t>(thread_identity()) + place;
    return *reinterpret_cast<const volatile std::uint32_t*>(address);
#endif
  }

  // From the thread pointer. relaxed, all: every thread that asks finds the same, and the start
  // comes before locks. 0: not known yet; no id is there.
  static inline constinit NativeAtomic<std::intptr_t> place_{0};
};

// No two threads that live at once have the same, and none has 0.
[[gnu::noinline]] inline std::uint32_t system_thread_id() noexcept {
  if (object_layout.mutex_shows_owner) {
    if (const std::uint32_t id = TidWord::owner_in_mutex(); id != 0) return id;
  }
  // The functions are another library's, or nobody has looked at its mutexes (tests).
  if (const long id = raw_syscall(SYS_gettid); id > 0) return static_cast<std::uint32_t>(id);
  // At least one that no other thread has: the kernel's are below 2^22, and thread control blocks
  // are not as near to each other as 64 bytes, nor as far from each other as 128 GB.
  constexpr std::uint32_t kNotTheKernels = 1u << 31;
  return kNotTheKernels | static_cast<std::uint32_t>(thread_identity() >> 6);
}

}  // namespace lockswap
