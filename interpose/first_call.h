// Start-up on the first call of any exported function, or in the constructor, whichever comes
// first.
#pragma once

#include <cerrno>
#include <pthread.h>

#include "platform/atomic.h"
#include "platform/functions.h"
#include "platform/latch.h"

namespace lockswap {

// Runs kStart once. Threads that come meanwhile wait. Returns false if the starting thread calls it
// again, because something that kStart calls takes a lock. A child that is forked meanwhile runs
// kStart again, so each of its steps may be done already, or half done.
template <void (*kStart)()>
bool started() noexcept {
  static constinit NativeAtomic<bool> is_over{false};
  static constinit Latch latch{};
  if (is_over.load(acquire)) return true;  // pairs with the release store below
  if (!latch.take()) return false;
  // If the thread were cancelled in the middle, all others would wait for ever.
  int cancellation = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
  if (!is_over.load(relaxed)) kStart();  // relaxed: the latch handed it on
  is_over.store(true, release);
  latch.give_back();
  pthread_setcancelstate(cancellation, nullptr);
  return true;
}

// Fills a table until kStart puts the real functions there: it starts the library and then calls
// the function that has taken its place.
// Only one thread runs during the start, but what the start calls may be another library's, such as
// a clock that takes locks. Objects are then initialised by the system's functions, kSystem, which
// the start looks up first. All other calls do nothing: the thread may take and release any lock.
template <void (*kStart)(), const auto& kSystem>
struct FirstCall {
  template <class C>
  static int on(C call, auto... args) {
    if (started<kStart>()) return call.next(args...);
    if constexpr (InitCall<C>) return call.is_in(kSystem) ? call.of(kSystem, args...) : EAGAIN;
    return 0;
  }
};

}  // namespace lockswap
