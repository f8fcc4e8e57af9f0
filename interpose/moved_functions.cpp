// Functions that glibc 2.34 moved from libpthread and libdl to libc. A library that is linked with
// a newer glibc refers to them at version GLIBC_2.34, and an older glibc refuses to load it. So the
// library refers to these definitions instead, which only it sees, and they find glibc's function
// wherever it is. None of them is on a fast path.
//
// scripts/check_symbols.py reports functions that are missing here. For processes without
// libpthread see load_libpthread in real_symbols.cpp.

#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>

#include "interpose/exports.h"
#include "interpose/real_function.h"

#define LOCKSWAP_HIDDEN __attribute__((visibility("hidden")))

namespace {

// glibc's function of that name, which is looked up on the first call.
template <class F>
using Real = lockswap::RealFunction<F>;

using OfBuffer = void (*)(__pthread_unwind_buf_t*);
constinit Real<void (*)()> test_cancel("pthread_testcancel", LOCKSWAP_OLDEST);
constinit Real<OfBuffer> register_cancel("__pthread_register_cancel", LOCKSWAP_SINCE_2_3_3);
constinit Real<OfBuffer> unregister_cancel("__pthread_unregister_cancel", LOCKSWAP_SINCE_2_3_3);
constinit Real<OfBuffer> unwind_next("__pthread_unwind_next", LOCKSWAP_SINCE_2_3_3);

constinit Real<int (*)(const pthread_condattr_t*, clockid_t*)> get_clock(
    "pthread_condattr_getclock", LOCKSWAP_SINCE_2_3_3);
constinit Real<int (*)(const pthread_condattr_t*, int*)> get_shared("pthread_condattr_getpshared",
                                                                    LOCKSWAP_OLDEST);
constinit Real<int (*)(pthread_t, char*, size_t)> get_name("pthread_getname_np",
                                                           LOCKSWAP_SINCE_2_12);

// Calls the function if this glibc has it.
template <class F, class... A>
int call(Real<F>& real, A... arguments) noexcept {
  const F f = real.get();
  return f != nullptr ? f(arguments...) : ENOSYS;
}

}  // namespace

namespace lockswap {

void resolve_moved_functions() noexcept {
  test_cancel.get();
  register_cancel.get();
  unregister_cancel.get();
  unwind_next.get();
  get_clock.get();
  get_shared.get();
  get_name.get();
}

}  // namespace lockswap

extern "C" {

// Used only if this library was itself loaded by dlopen, and then libdl is loaded.
__attribute__((weak)) void* lockswap_system_dlsym(void*, const char*) noexcept;
__attribute__((weak)) void* lockswap_system_dlvsym(void*, const char*, const char*) noexcept;
asm(".symver lockswap_system_dlsym,dlsym@" LOCKSWAP_OLDEST);
asm(".symver lockswap_system_dlvsym,dlvsym@" LOCKSWAP_OLDEST);

LOCKSWAP_HIDDEN void* dlsym(void* __restrict handle, const char* __restrict name) noexcept {
  return lockswap_system_dlsym != nullptr ? lockswap_system_dlsym(handle, name) : nullptr;
}

LOCKSWAP_HIDDEN void* dlvsym(void* __restrict handle, const char* __restrict name,
                             const char* __restrict version) noexcept {
  if (lockswap_system_dlvsym == nullptr) return nullptr;
  return lockswap_system_dlvsym(handle, name, version);
}

LOCKSWAP_HIDDEN int pthread_condattr_getclock(const pthread_condattr_t* __restrict attr,
                                              clockid_t* __restrict clock_id) noexcept {
  return call(get_clock, attr, clock_id);
}

LOCKSWAP_HIDDEN int pthread_condattr_getpshared(const pthread_condattr_t* __restrict attr,
                                                int* __restrict pshared) noexcept {
  return call(get_shared, attr, pshared);
}

LOCKSWAP_HIDDEN int pthread_getname_np(pthread_t target_thread, char* buf, size_t buflen) noexcept {
  return call(get_name, target_thread, buf, buflen);
}

// The next four are not noexcept, because a cancellation unwinds the stack through them.
LOCKSWAP_HIDDEN void pthread_testcancel() {
  if (const auto f = test_cancel.get(); f != nullptr) f();
}

LOCKSWAP_HIDDEN void __pthread_register_cancel(__pthread_unwind_buf_t* buf) {
  if (const auto f = register_cancel.get(); f != nullptr) f(buf);
}

LOCKSWAP_HIDDEN void __pthread_unregister_cancel(__pthread_unwind_buf_t* buf) {
  if (const auto f = unregister_cancel.get(); f != nullptr) f(buf);
}

// glibc is unwinding the stack already, so its function exists.
LOCKSWAP_HIDDEN void __pthread_unwind_next(__pthread_unwind_buf_t* buf) {
  unwind_next.get()(buf);
  __builtin_unreachable();
}

}  // extern "C"
