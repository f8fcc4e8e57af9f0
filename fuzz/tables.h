// The functions of POSIX with points around them, before those of the next library in line.
#pragma once

#include <pthread.h>

#include "fuzz/disturb.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap::fuzz {

// kBefore, the function, kAfter.
template <auto& kTable, auto kMember, Point kBefore, Point kAfter>
struct Around;
template <class Table, Table& kTable, class... Args, int (*Table::*kMember)(Args...), Point kBefore,
          Point kAfter>
struct Around<kTable, kMember, kBefore, kAfter> {
  static int call(Args... args) noexcept {
    pass(kBefore);
    const int result = (kTable.*kMember)(args...);
    pass(kAfter);
    return result;
  }
};
// A wait, which may return for no reason: POSIX allows it.
template <auto& kTable, auto kMember>
struct Wait;
template <CondOps& kTable, class... Args,
          int (*CondOps::*kMember)(pthread_cond_t*, pthread_mutex_t*, Args...)>
struct Wait<kTable, kMember> {
  static int call(pthread_cond_t* c, pthread_mutex_t* m, Args... args) {
    int result = 0;
    if (pass(Point::before_wait)) {
      // Not when the caller doesn't hold the mutex, or not alone: the next library knows.
      result = system_mutex.unlock(m);
      if (result == 0) {
        pass(Point::after_release);
        result = system_mutex.lock(m);
      }
    } else {
      result = (kTable.*kMember)(c, m, args...);
    }
    pass(Point::after_wait);
    return result;
  }
};
// What is not disturbed.
template <auto& kTable, auto kMember>
struct Plain;
template <class Table, Table& kTable, class... Args, int (*Table::*kMember)(Args...)>
struct Plain<kTable, kMember> {
  static int call(Args... args) noexcept { return (kTable.*kMember)(args...); }
};

template <auto kMember>
inline constexpr auto rw_acquire =
    Around<system_rwlock, kMember, Point::before_acquire, Point::after_acquire>::call;
inline constexpr RwOps disturbed_rwlock{
    Plain<system_rwlock, &RwOps::init>::call,
    Plain<system_rwlock, &RwOps::destroy>::call,
    rw_acquire<&RwOps::rdlock>,
    rw_acquire<&RwOps::tryrdlock>,
    rw_acquire<&RwOps::timedrdlock>,
    rw_acquire<&RwOps::clockrdlock>,
    rw_acquire<&RwOps::wrlock>,
    rw_acquire<&RwOps::trywrlock>,
    rw_acquire<&RwOps::timedwrlock>,
    rw_acquire<&RwOps::clockwrlock>,
    Around<system_rwlock, &RwOps::unlock, Point::before_release, Point::after_release>::call,
};

template <auto kMember>
inline constexpr auto mutex_acquire =
    Around<system_mutex, kMember, Point::before_acquire, Point::after_acquire>::call;
inline constexpr MutexOps disturbed_mutex{
    Plain<system_mutex, &MutexOps::init>::call,
    Plain<system_mutex, &MutexOps::destroy>::call,
    mutex_acquire<&MutexOps::lock>,
    mutex_acquire<&MutexOps::trylock>,
    mutex_acquire<&MutexOps::timedlock>,
    mutex_acquire<&MutexOps::clocklock>,
    Around<system_mutex, &MutexOps::unlock, Point::before_release, Point::after_release>::call,
};

template <CondOps& kTable>
inline constexpr CondOps disturbed_conds{
    Plain<kTable, &CondOps::init>::call,
    Plain<kTable, &CondOps::destroy>::call,
    Wait<kTable, &CondOps::wait>::call,
    Wait<kTable, &CondOps::timedwait>::call,
    Wait<kTable, &CondOps::clockwait>::call,
    Around<kTable, &CondOps::signal, Point::before_signal, Point::after_signal>::call,
    Around<kTable, &CondOps::broadcast, Point::before_signal, Point::after_signal>::call,
};
inline constexpr CondOps disturbed_cond = disturbed_conds<system_cond>;
inline constexpr CondOps disturbed_old_cond = disturbed_conds<system_old_cond>;

}  // namespace lockswap::fuzz
