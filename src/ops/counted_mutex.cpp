#include "ops/counted_mutex.h"

#include <cerrno>

#include "locks/common/events.h"
#include "stats/stats.h"

namespace lockswap {
namespace {

struct CountMutexes {
  template <class C>
  static int on(C call, pthread_mutex_t* m, auto... args) noexcept {
    CountInTable::on(m, Event::mutex_call);
    const int error = call.next(m, args...);
    if (LockCall<C> && (error == 0 || error == EOWNERDEAD)) CountInTable::on(m, Event::mutex_lock);
    if (LockCall<C> && error == EBUSY) CountInTable::on(m, Event::mutex_failed_try);
    if (error == ETIMEDOUT) CountInTable::on(m, Event::mutex_timeout);
    return error;
  }
};

struct CountConds {
  static int on(auto call, pthread_cond_t* c, const pthread_condattr_t* a) {
    return call.next(c, a);
  }
  static int on(DestroyCall auto call, pthread_cond_t* c) { return call.next(c); }
  template <class C>
  static int on(C call, pthread_cond_t* c, auto... args) {
    CountInTable::on(c, WaitCall<C>              ? Event::cond_wait
                        : C::kAct == Act::signal ? Event::cond_signal
                                                 : Event::cond_broadcast);
    const int error = call.next(c, args...);
    if (error == ETIMEDOUT) CountInTable::on(c, Event::cond_timeout);
    return error;
  }
};

constinit CondOps next{};
constinit CondOps old_next{};
constinit const CondOps counted_conds = around<CountConds, next>;
constinit const CondOps counted_old_conds = around<CountConds, old_next>;

}  // namespace

constinit const MutexOps counting_system_mutex = around<CountMutexes, system_mutex>;

void count_conds(const CondOps*& conds, const CondOps*& old_conds) noexcept {
  next = *conds;
  old_next = *old_conds;
  conds = &counted_conds;
  old_conds = &counted_old_conds;
}

}  // namespace lockswap
