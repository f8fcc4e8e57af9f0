// libc runs a function when a thread exits, however it was started (ThreadExit::prepare). When the
// thread first asks, libc allocates memory and takes the loader lock, so that must not happen
// inside a program's malloc. After the function run those destructors of thread-local data that
// were registered earlier, and those of thread-specific data.
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
