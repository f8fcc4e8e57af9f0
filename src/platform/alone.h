// Tells whether this process has one thread. While it has, only that thread's own signal handlers
// can come between the steps of a read-modify-write, so locks need no atomic one: on x86-64 a
// single instruction without the `lock` prefix, which a handler cannot interrupt halfway, takes a
// tenth of the time (NativeAtomic's *_alone).
//
// The C library knows: it clears a flag before it creates a thread for any caller. glibc up to 2.44
// never sets the flag again, neither after threads have ended nor in a forked child. A later glibc
// that does will have synchronised with the threads that have ended, as a child has by the fork.
// The flag is __libc_single_threaded, since glibc 2.32. Without it, on other processors and under
// ThreadSanitizer, no process is alone. The caller passes its address, because older glibcs refuse
// to load a library that refers to a symbol of that version, even weakly.
#pragma once

#include "platform/sanitizer.h"

namespace lockswap {

class Alone {
 public:
#if defined(__x86_64__) && !defined(LOCKSWAP_TSAN)
  static constexpr bool kKnown = true;
#else
  static constexpr bool kKnown = false;
#endif

  // Called at start-up, by one thread. `flag` is the C library's, or nullptr. Idempotent.
  static void prepare(const char* flag) noexcept {
    if (flag != nullptr) flag_ = flag;
  }

  // Stays true until the calling thread creates another one. Must be called for each RMW, since a
  // critical section may create threads.
  [[gnu::always_inline]] static bool is() noexcept {
    if constexpr (!kKnown) return false;
#if defined(__x86_64__)
    // Needs no order: a thread that is created after the flag was cleared finds it cleared.
    bool alone;  // asm, because a volatile load would take one more instruction
    asm volatile("cmpb $0, %1" : "=@ccne"(alone) : "m"(*flag_));
    return alone;
#else
    return *static_cast<const volatile char*>(flag_) != 0;
#endif
  }

 private:
  static constexpr char kNever = 0;
  static inline constinit const char* flag_ = &kNever;
};

}  // namespace lockswap
