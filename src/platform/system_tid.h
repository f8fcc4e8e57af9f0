// The kernel's id of the calling thread, without a system call, which seccomp may block.
//
// glibc knows it, also right after a fork, and stores it in each mutex that checks its owner. So
// that debuggers find the same ids in our locks as in glibc's, it is read where glibc reads it,
// each time: a child that a program creates by a raw clone may store its own id there later.
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

// The word in each thread's memory that contains its id: glibc's, or a copy of our own.
class TidWord {
 public:
  // Called once, at start-up, with what glibc records for debuggers about its thread descriptor:
  // where the id is (its bits, 1, its offset), and the descriptor's size. The thread pointer points
  // to the descriptor or right after it. If the word there isn't this thread's id, or glibc doesn't
  // say, the word remains our own.
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
  // Makes it this word, a thread-local variable, in every thread, unless it is known already.
  static void is_here(const std::uint32_t* word) noexcept {
    if (!is_known()) place_.store(distance(word), relaxed);
  }
  static bool is_this(const std::uint32_t* word) noexcept {
    return place_.load(relaxed) == distance(word);
  }

  [[gnu::always_inline]] static std::uint32_t read() noexcept { return at(place_.load(relaxed)); }

  // Returns the owner that glibc stores in a mutex of its own, or 0 if it stores none.
  static std::uint32_t owner_in_mutex() noexcept {
    // This kind is never elided; an elided mutex stores no owner.
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
    // One instruction, which C++ can't express.
    std::uint32_t id;
    asm("movl %%fs:(%1), %0" : "=r"(id) : "r"(place));
    return id;
#else
    const auto address = static_cast<std::intptr_t>(thread_identity()) + place;
    return *reinterpret_cast<const volatile std::uint32_t*>(address);
#endif
  }

  // Offset from the thread pointer, or 0 if not known yet. All relaxed: every thread that sets it
  // finds the same one, and start-up comes before locks.
  static inline constinit NativeAtomic<std::intptr_t> place_{0};
};

// Returns an id that no two live threads share. Never 0.
[[gnu::noinline]] inline std::uint32_t system_thread_id() noexcept {
  if (object_layout.mutex_shows_owner) {
    if (const std::uint32_t id = TidWord::owner_in_mutex(); id != 0) return id;
  }
  // The functions are another library's, or nobody has examined its mutexes (tests).
  if (const long id = raw_syscall(SYS_gettid); id > 0) return static_cast<std::uint32_t>(id);
  // At least a number that no other thread has: the kernel's ids are below 2^22, and thread control
  // blocks are more than 64 bytes and less than 128 GB apart.
  constexpr std::uint32_t kNotTheKernels = 1u << 31;
  return kNotTheKernels | static_cast<std::uint32_t>(thread_identity() >> 6);
}

}  // namespace lockswap
