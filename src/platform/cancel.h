// Sleeping as a cancellation point.
//
// glibc up to 2.40 acts on a cancellation asynchronously while a thread sleeps inside a function
// that is a cancellation point, and so do we: for the length of the system call the thread's type
// is asynchronous. A cancellation that comes then ends the sleep, and the caller finishes what it
// has to before it lets the thread's clean-up handlers run. It also ends a signal handler that runs
// on top of the sleep; glibc 2.41 and newer let that end first (docs/interposition.md).
#pragma once

#include <cstdint>
#include <pthread.h>

#include "platform/clock.h"

namespace lockswap {

enum class Slept : std::uint8_t {
  woken,      // woken, or the word had changed, or for no reason: recheck
  timed_out,  // the deadline has passed
  cancelled,  // go_on() when all is done
};

// One for each call of the function that is a cancellation point, in its frame.
class CancellableSleep {
 public:
  // As futex_wait. The low half of an atom, as Native::park.
  template <class A>
  Slept park(const A& atom, std::uint32_t low_half, std::uint32_t channels,
             const Deadline* deadline) noexcept {
    return sleep(&atom, low_half, channels, deadline);
  }
  // Acts on a cancellation that is pending, without a sleep. Returns whether there was one: then as
  // after Slept::cancelled.
  bool is_cancelled() noexcept;
  // After Slept::cancelled: runs the clean-up handlers and ends the thread.
  [[noreturn]] void go_on() noexcept;

 private:
  Slept sleep(const void* word, std::uint32_t expected, std::uint32_t channels,
              const Deadline* deadline) noexcept;
  __pthread_unwind_buf_t buffer_;
};

// While it lives a cancellation acts in sleeps alone, whatever type the thread has chosen: one that
// came at any other instruction would leave locked what the function has locked. At the end it may
// act at once.
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
