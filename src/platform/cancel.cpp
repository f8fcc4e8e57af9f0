#include "platform/cancel.h"

#include <csetjmp>

#include "platform/futex.h"
#include "platform/rereading.h"

namespace lockswap {

// Does what pthread_cleanup_push does in C: glibc unwinds the stack up to this frame and returns
// here as from setjmp. go_on() continues from `buffer_`, so this frame may be left before that.
[[gnu::noinline]] Slept CancellableSleep::sleep(const void* word, std::uint32_t expected,
                                                std::uint32_t channels,
                                                const Deadline* deadline) noexcept {
  Rereading::before_sleep();  // while nothing can cancel it
  auto* jump = reinterpret_cast<__jmp_buf_tag*>(buffer_.__cancel_jmp_buf);
  if (__sigsetjmp(jump, 0) != 0) return Slept::cancelled;
  __pthread_register_cancel(&buffer_);
  int type = 0;
  // This acts on a pending cancellation.
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  const Parked parked = futex_wait(word, expected, channels, deadline);
  pthread_setcanceltype(type, nullptr);
  __pthread_unregister_cancel(&buffer_);
  return parked == Parked::timed_out ? Slept::timed_out : Slept::woken;
}

[[gnu::noinline]] bool CancellableSleep::is_cancelled() noexcept {
  auto* jump = reinterpret_cast<__jmp_buf_tag*>(buffer_.__cancel_jmp_buf);
  if (__sigsetjmp(jump, 0) != 0) return true;
  __pthread_register_cancel(&buffer_);
  int type = 0;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  pthread_setcanceltype(type, nullptr);
  __pthread_unregister_cancel(&buffer_);
  return false;
}

void CancellableSleep::go_on() noexcept { __pthread_unwind_next(&buffer_); }

}  // namespace lockswap
