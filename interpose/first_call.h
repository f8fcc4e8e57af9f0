// Start-up at the first call of any exported function, or in the constructor, whichever is earlier.
#pragma once

#include <cerrno>
#include <cstdint>
#include <pthread.h>

#include "platform/atomic.h"
#include "platform/identity.h"
#include "platform/step_aside.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "platform/system_waits.h"

namespace lockswap {

// Runs kStart once, in one thread; others that come meanwhile wait. Returns false when the starting
// thread calls it again, because what kStart calls takes a lock.
template <void (*kStart)()>
bool started() noexcept {
  static constinit NativeAtomic<std::uint64_t> starter{0};  // the thread; kOver at the end
  constexpr std::uint64_t kOver = ~std::uint64_t{0};
  const std::uint64_t me = thread_identity();
  std::uint64_t seen = 0;
  if (starter.compare_exchange(seen, me, acquire)) {
    // A thread that was cancelled in the middle would leave all others waiting below.
    int cancellation = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    kStart();
    starter.store(kOver, release);  // pairs with the acquire load below
    pthread_setcancelstate(cancellation, nullptr);
    return true;
  }
  while ((seen = starter.load(acquire)) != kOver) {
    if (seen == me) return false;
    // Not a yield: the starting thread may have a lower real-time priority than this one.
    nap(100'000);
  }
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
                  &WaitOps::tryjoin>;

}  // namespace lockswap
