// The exported functions that create keys of thread-specific data. The library has taken one of the
// process's 1024 keys (ThreadExit, platform/thread.h); where the program would be refused for want
// of one, it gets that. The other functions of keys are glibc's own.

#include <cerrno>
#include <pthread.h>
#include <threads.h>

#include "interpose/exports.h"
#include "interpose/real_function.h"
#include "interpose/start.h"
#include "platform/thread.h"

namespace lockswap {
namespace {

using CreateKey = int (*)(pthread_key_t*, void (*)(void*));
using CreateTss = int (*)(tss_t*, tss_dtor_t);

// Libraries create keys in their constructors, perhaps before this library's own has run.
constinit RealFunction<CreateKey> create_key("pthread_key_create", LOCKSWAP_OLDEST);
constinit RealFunction<CreateTss> create_tss("tss_create", "GLIBC_2.28");

// Before glibc 2.34 there may be none until the start has loaded libpthread.
template <class F>
F get(RealFunction<F>& real) noexcept {
  if (const F f = real.get(); f != nullptr) return f;
  ensure_started();
  return real.get();
}

}  // namespace

void resolve_key_functions() noexcept {
  create_key.get();
  create_tss.get();
}

}  // namespace lockswap

extern "C" {

LOCKSWAP_EXPORTED int lockswap_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  const auto create = lockswap::get(lockswap::create_key);
  if (create == nullptr) return EAGAIN;
  const int error = create(key, destructor);
  if (error != EAGAIN || !lockswap::ThreadExit::give_up_key()) return error;
  return create(key, destructor);
}

// C11's. It does not say why it fails, other than for memory.
LOCKSWAP_EXPORTED int lockswap_tss_create(tss_t* key, tss_dtor_t destructor) {
  const auto create = lockswap::get(lockswap::create_tss);
  if (create == nullptr) return thrd_error;
  const int error = create(key, destructor);
  if (error != thrd_error || !lockswap::ThreadExit::give_up_key()) return error;
  return create(key, destructor);
}

}  // extern "C"

LOCKSWAP_VERSIONED(lockswap_key_create, pthread_key_create)
// Not __pthread_key_create: before glibc 2.34, libstdc++ and libdl ask by a weak reference to it
// whether the process has threads, and then call functions of libpthread, which may not be there.
LOCKSWAP_VERSIONED_SINCE_2_28(lockswap_tss_create, tss_create)
