// Whether this process has one thread. While it has, nobody but that thread's own signal handlers
// can come between the steps of an update, so locks spare the processor the atomic one: on x86-64 a
// single instruction without the `lock` prefix, which a handler cannot divide, takes a tenth of the
// time (NativeAtomic's *_alone).
//
// The C library knows: it clears the flag before it makes a thread for any caller. glibc up to 2.44
// never sets it again, neither when threads have ended nor in the child of a fork; a later one may.
// Then it has synchronised with the threads that have ended, as that child has by the fork.
// The flag is glibc 2.32's, __libc_single_threaded. Without it, on other processors and under
// ThreadSanitizer, no process is alone. It comes from the caller, not by a reference: older glibcs
// refuse to load what asks for that version, even weakly.
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

  // It holds until the calling thread makes another one. Ask for each update: a critical section
  // may do so.
  [[gnu::always_inline]] static bool is() noexcept {
    if constexpr (!kKnown) return false;
#if defined(__x86_64__)
    // No order: a thread that was made after the flag was cleared finds it so.
    bool alone;  // by an asm: a volatile load would take an instruction more
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
