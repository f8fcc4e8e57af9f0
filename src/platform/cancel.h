// Sleeping as a cancellation point.
//
// glibc up to 2.40 acts on a cancellation asynchronously while a thread sleeps inside a function
// that is a cancellation point, and so do we: for the length of the system call the thread's type
// is asynchronous. A cancellation that arrives then ends the sleep, and the caller finishes what it
// has to do before it lets the thread's clean-up handlers run. It also ends a signal handler that
// runs on top of the sleep; glibc 2.41 and newer let that return first (docs/interposition.md).
#pragma once

#include <cstdint>
#include <pthread.h>

#include "platform/clock.h"

namespace lockswap {

enum class Slept : std::uint8_t {
  woken,      // woken, spuriously or because the word had changed: recheck
  timed_out,  // the deadline has passed
  cancelled,  // call go_on() when all is done
};

// A local variable in each call of the function that is a cancellation point.
class CancellableSleep {
 public:
  // Like futex_wait. Sleeps on the low half of an atom, like Native::park.
  template <class A>
  Slept park(const A& atom, std::uint32_t low_half, std::uint32_t channels,
             const Deadline* deadline) noexcept {
    return sleep(&atom, low_half, channels, deadline);
  }
  // Acts on a pending cancellation, without a sleep. Returns whether there was one; if so, the
  // caller goes on as after Slept::cancelled.
  bool is_cancelled() noexcept;
  // Called after Slept::cancelled. Runs the clean-up handlers and ends the thread.
  [[noreturn]] void go_on() noexcept;

 private:
  Slept sleep(const void* word, std::uint32_t expected, std::uint32_t channels,
              const Deadline* deadline) noexcept;
  __pthread_unwind_buf_t buffer_;
};

// While one exists, a cancellation acts only in sleeps, whatever type the thread has chosen: at any
// other instruction it would leave locked what the function has locked. It may act as soon as the
// object is destroyed.
class DeferredCancellation {
 public:
  DeferredCancellation() noexcept { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_); }
  ~DeferredCancellation() { pthread_setcanceltype(type_, nullptr); }
  DeferredCancellation(const DeferredCancellation&) = delete;
  DeferredCancellation& operator=(const DeferredCancellation&) = delete;

 private:
  int type_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace lockswap
