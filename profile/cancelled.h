// A wait that a cancellation may end, and what must be done then.
#pragma once

#include <csetjmp>
#include <pthread.h>

namespace lockswap::profile {

// Returns what wait() returns. If the thread is cancelled in it, or calls pthread_exit in a signal
// handler, calls cancelled() before the program's clean-up handlers run. This is what
// pthread_cleanup_push does in C.
template <class Wait, class Cancelled>
[[gnu::noinline]] int unless_cancelled(Wait wait, Cancelled cancelled) {
  __pthread_unwind_buf_t buffer;
  auto* const jump = reinterpret_cast<__jmp_buf_tag*>(buffer.__cancel_jmp_buf);
  if (__sigsetjmp(jump, 0) != 0) [[unlikely]] {
    cancelled();
    __pthread_unwind_next(&buffer);
  }
  __pthread_register_cancel(&buffer);
  const int result = wait();
  __pthread_unregister_cancel(&buffer);
  return result;
}

}  // namespace lockswap::profile
