// libc runs a function at a thread's end, whichever way it began (ThreadExit::prepare). It
// allocates memory for that and takes the loader's lock, when the thread first asks: not inside of
// a program's malloc. Behind it the thread's own destructors of thread-local data run that were
// there before, and those of thread-specific data.
#pragma once

#include "platform/thread.h"

extern "C" {
int __cxa_thread_atexit_impl(void (*function)(void*), void* argument, void* object) noexcept;
extern void* __dso_handle __attribute__((visibility("hidden")));
}

namespace lockswap {

inline bool watched_by_libc() noexcept {
  return __cxa_thread_atexit_impl([](void*) { ThreadExit::end(); }, nullptr, &__dso_handle) == 0;
}

}  // namespace lockswap
