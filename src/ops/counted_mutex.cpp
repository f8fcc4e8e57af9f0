#include "ops/counted_mutex.h"

#include <cerrno>
#include <type_traits>

#include "locks/common/events.h"
#include "stats/stats.h"

namespace lockswap {
namespace {

template <auto kMember, bool kAcquires>
struct Through;
template <class... Args, int (*MutexOps::*kMember)(pthread_mutex_t*, Args...), bool kAcquires>
struct Through<kMember, kAcquires> {
  static int call(pthread_mutex_t* m, Args... args) noexcept {
    CountInTable::on(m, Event::mutex_call);
    const int error = (system_mutex.*kMember)(m, args...);
    if (kAcquires && (error == 0 || error == EOWNERDEAD)) CountInTable::on(m, Event::mutex_lock);
    if (kAcquires && error == EBUSY) CountInTable::on(m, Event::mutex_failed_try);
    if (error == ETIMEDOUT) CountInTable::on(m, Event::mutex_timeout);
    return error;
  }
};

constinit const CondOps* next = nullptr;
constinit const CondOps* old_next = nullptr;

template <const CondOps*& kNext, auto kMember, Event kEvent>
struct Counted;
template <const CondOps*& kNext, class... Args, int (*CondOps::*kMember)(pthread_cond_t*, Args...),
          Event kEvent>
struct Counted<kNext, kMember, kEvent> {
  static int call(pthread_cond_t* c, Args... args) {  // a cancellation may unwind a wait
    CountInTable::on(c, kEvent);
    const int error = (kNext->*kMember)(c, args...);
    if (error == ETIMEDOUT) CountInTable::on(c, Event::cond_timeout);
    return error;
  }
};
template <const CondOps*& kNext>
constexpr CondOps table{
    [](pthread_cond_t* c, const pthread_condattr_t* a) { return kNext->init(c, a); },
    [](pthread_cond_t* c) { return kNext->destroy(c); },
    Counted<kNext, &CondOps::wait, Event::cond_wait>::call,
    Counted<kNext, &CondOps::timedwait, Event::cond_wait>::call,
    Counted<kNext, &CondOps::clockwait, Event::cond_wait>::call,
    Counted<kNext, &CondOps::signal, Event::cond_signal>::call,
    Counted<kNext, &CondOps::broadcast, Event::cond_broadcast>::call,
};

}  // namespace

constinit const MutexOps counting_system_mutex{
    Through<&MutexOps::init, false>::call,     Through<&MutexOps::destroy, false>::call,
    Through<&MutexOps::lock, true>::call,      Through<&MutexOps::trylock, true>::call,
    Through<&MutexOps::timedlock, true>::call, Through<&MutexOps::clocklock, true>::call,
    Through<&MutexOps::unlock, false>::call,
};

void count_conds(const CondOps*& conds, const CondOps*& old_conds) noexcept {
  next = conds;
  old_next = old_conds;
  conds = &table<next>;
  old_conds = &table<old_next>;
}

}  // namespace lockswap
