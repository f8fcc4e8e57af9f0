// Start-up at the first call of any exported function, or in the constructor, whichever is earlier.
#pragma once

#include <cerrno>
#include <pthread.h>

#include "platform/atomic.h"
#include "platform/functions.h"
#include "platform/latch.h"

namespace lockswap {

// Runs kStart once, in one thread; others that come meanwhile wait. Returns false when the starting
// thread calls it again, because what kStart calls takes a lock. A child that is forked meanwhile
// runs it again, so kStart may find each of its steps done, or half done.
template <void (*kStart)()>
bool started() noexcept {
  static constinit NativeAtomic<bool> is_over{false};
  static constinit Latch latch{};
  if (is_over.load(acquire)) return true;  // pairs with the release store below
  if (!latch.take()) return false;
  // A thread that was cancelled in the middle would leave all others waiting.
  int cancellation = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
  if (!is_over.load(relaxed)) kStart();  // relaxed: the latch handed it on
  is_over.store(true, release);
  latch.give_back();
  pthread_setcancelstate(cancellation, nullptr);
  return true;
}

// Stands before the functions of a table that kStart has yet to fill in, in that same table: it
// starts the library and then calls what has taken its place.
// Inside the start there is one thread. What the start calls may be another library's, such as a
// clock that takes locks. Objects are made there by the system's functions, kSystem, which the
// start looks up first. All other calls do nothing: the thread may take and release any lock.
template <void (*kStart)(), const auto& kSystem>
struct FirstCall {
  template <class C>
  static int on(C call, auto... args) {
    if (started<kStart>()) return call.next(args...);
    if constexpr (InitCall<C>) return is_known() ? call.of(kSystem, args...) : EAGAIN;
    return 0;
  }

 private:
  static bool is_known() noexcept {
    if constexpr (requires { kSystem.sem_init; }) {
      return kSystem.sem_init != nullptr;
    } else {
      return kSystem.init != nullptr;
    }
  }
};

}  // namespace lockswap
