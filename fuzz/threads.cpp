// pthread_create. A thread gets its name from its creator, so that a seed means the same to it in
// each run, and it begins with a point.

#include <pthread.h>

#include "config/environment.h"
#include "fuzz/disturb.h"
#include "fuzz/live.h"
#include "fuzz/serial.h"
#include "interpose/exports.h"
#include "interpose/real_function.h"
#include "interpose/start.h"
#include "interpose/thread_frame.h"
#include "platform/memory.h"

namespace lockswap {
namespace {
using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
constinit RealFunction<Create> create("pthread_create", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&pthread_join)> join("pthread_join", LOCKSWAP_OLDEST);
constinit RealFunction<decltype(&pthread_cancel)> cancel("pthread_cancel", LOCKSWAP_OLDEST);
}  // namespace
void resolve_thread_functions() noexcept {
  create.get();
  join.get();
  cancel.get();
}
}  // namespace lockswap

namespace lockswap::fuzz {
namespace {

// In its own pages, because malloc may be the program's and take locks.
struct Beginning {
  void* (*routine)(void*);
  void* argument;
  Me me;
  serial::Thread* turns;
};

void* begin(void* p) {
  const Beginning b = *static_cast<Beginning*>(p);
  unmap_pages(p, sizeof(Beginning));
  if (settings.serial) {
    serial::begin(b.turns);
  } else {
    begin_thread(b.me);
  }
  return call_in_frame(b.routine, b.argument);
}

}  // namespace
}  // namespace lockswap::fuzz

extern "C" {

LOCKSWAP_EXPORTED int lockswap_thread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                             void* (*routine)(void*), void* argument) {
  using namespace lockswap;
  using namespace lockswap::fuzz;
  ensure_started();  // another library's constructor may create threads before ours has run
  const auto real = create.get();
  void* const page =
      environment_value("LOCKSWAP_FUZZ") != nullptr ? map_pages(sizeof(Beginning)) : nullptr;
  if (page == nullptr) return real(thread, attributes, routine, argument);
  serial::Thread* const turns = settings.serial ? serial::create() : nullptr;
  *static_cast<Beginning*>(page) = {routine, argument, next_child(), turns};
  const int error = real(thread, attributes, begin, page);
  if (error != 0) unmap_pages(page, sizeof(Beginning));
  if (settings.serial) {
    serial::created(turns, error == 0 ? thread : nullptr);
    serial::point(serial::Kind::create, reinterpret_cast<const void*>(routine),
                  __builtin_return_address(0));
  }
  return error;
}

// Not noexcept: it is a cancellation point.
LOCKSWAP_EXPORTED int lockswap_join(pthread_t thread, void** result) {
  using namespace lockswap;
  ensure_started();
  const auto* const other = reinterpret_cast<const void*>(thread);
  const fuzz::Waiting waiting(fuzz::Waits::join, other, nullptr, false, __builtin_return_address(0),
                              true);
  if (!fuzz::settings.serial) return join.get()(thread, result);
  fuzz::serial::point(fuzz::serial::Kind::join, other, __builtin_return_address(0));
  while (!fuzz::serial::has_ended(thread)) {
    fuzz::serial::wait_for(other, false);
    pthread_testcancel();
  }
  fuzz::serial::be_patient(true);
  const int error = join.get()(thread, result);
  fuzz::serial::be_patient(false);
  return error;
}

// If one thread runs at a time, threads don't wait in the kernel, so a cancelled thread must be
// woken here.
LOCKSWAP_EXPORTED int lockswap_cancel(pthread_t thread) {
  using namespace lockswap;
  ensure_started();
  const int error = cancel.get()(thread);
  if (fuzz::settings.serial && error == 0) fuzz::serial::wake(thread);
  return error;
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_cancel)
LOCKSWAP_SYMBOLS(lockswap_thread_create)
LOCKSWAP_SYMBOLS(lockswap_join)
