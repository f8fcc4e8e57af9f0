// The stack frame in which the program's threads begin, so that this library sees them end.
#pragma once

#include <pthread.h>

#include "platform/cancel.h"
#include "platform/thread.h"

namespace lockswap {

// Calls the thread's function. ThreadExit's hooks run when it returns, and when the thread exits or
// is cancelled in it.
template <class Result>
Result call_in_frame(Result (*routine)(void*), void* argument) {
  ThreadExit::begin();
  Result result;
  pthread_cleanup_push([](void*) { ThreadExit::end(); }, nullptr);
  result = routine(argument);
  // An asynchronous cancellation could interrupt the hooks halfway.
  const DeferredCancellation deferred;
  pthread_cleanup_pop(1);
  return result;
}

}  // namespace lockswap
