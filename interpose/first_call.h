// Start-up at the first call of any exported function, or in the constructor, whichever is earlier.
#pragma once

#include <cerrno>
#include <cstdint>
#include <pthread.h>

#include "platform/atomic.h"
#include "platform/latch.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "platform/system_waits.h"

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

// FirstCall<kTable, kMember, kStart, kInside>::call stands in a table of functions until kStart has
// filled the table in: it starts the library and then calls what has taken its place. Inside the
// start it returns kInside.
template <auto& kTable, auto kMember, void (*kStart)(), int kInside>
struct FirstCall;

template <class Table, Table& kTable, class... Args, int (*Table::*kMember)(Args...),
          void (*kStart)(), int kInside>
struct FirstCall<kTable, kMember, kStart, kInside> {
  static int call(Args... args) noexcept {
    return started<kStart>() ? (kTable.*kMember)(args...) : kInside;
  }
};

// What a whole table holds until then.
template <class Table, Table& kTable, void (*kStart)(), int kInside, auto... kMembers>
constexpr Table kFirstCallsOf{FirstCall<kTable, kMembers, kStart, kInside>::call...};

template <RwOps& kTable, void (*kStart)(), int kInside>
constexpr RwOps kFirstRwCalls =
    kFirstCallsOf<RwOps, kTable, kStart, kInside, &RwOps::init, &RwOps::destroy, &RwOps::rdlock,
                  &RwOps::tryrdlock, &RwOps::timedrdlock, &RwOps::clockrdlock, &RwOps::wrlock,
                  &RwOps::trywrlock, &RwOps::timedwrlock, &RwOps::clockwrlock, &RwOps::unlock>;
template <MutexOps& kTable, void (*kStart)(), int kInside>
constexpr MutexOps kFirstMutexCalls =
    kFirstCallsOf<MutexOps, kTable, kStart, kInside, &MutexOps::init, &MutexOps::destroy,
                  &MutexOps::lock, &MutexOps::trylock, &MutexOps::timedlock, &MutexOps::clocklock,
                  &MutexOps::unlock>;
template <CondOps& kTable, void (*kStart)(), int kInside>
constexpr CondOps kFirstCondCalls =
    kFirstCallsOf<CondOps, kTable, kStart, kInside, &CondOps::init, &CondOps::destroy,
                  &CondOps::wait, &CondOps::timedwait, &CondOps::clockwait, &CondOps::signal,
                  &CondOps::broadcast>;
template <WaitOps& kTable, void (*kStart)(), int kInside>
constexpr WaitOps kFirstWaitCalls =
    kFirstCallsOf<WaitOps, kTable, kStart, kInside, &WaitOps::sem_init, &WaitOps::sem_destroy,
                  &WaitOps::sem_wait, &WaitOps::sem_trywait, &WaitOps::sem_timedwait,
                  &WaitOps::sem_clockwait, &WaitOps::sem_post, &WaitOps::barrier_init,
                  &WaitOps::barrier_destroy, &WaitOps::barrier_wait, &WaitOps::join,
                  &WaitOps::sem_getvalue>;

}  // namespace lockswap
