// The functions of POSIX with points around them, before those of the next library in line.
#pragma once

#include <ctime>
#include <pthread.h>

#include "fuzz/conds.h"
#include "fuzz/disturb.h"
#include "fuzz/gate.h"
#include "platform/looks.h"
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
inline bool is_taken(const pthread_mutex_t* m, bool) noexcept {
  return Looks::at(m) == Look::taken;
}
inline bool is_taken(const pthread_rwlock_t* l, bool reads) noexcept {
  return (reads ? Looks::at<true>(l) : Looks::at<false>(l)) == Look::taken;
}

// An acquisition that waits for its turn if the lock is taken.
template <auto& kTable, auto kMember, bool kReads = false>
struct Acquire;
template <class Table, Table& kTable, class Lock, class... Args,
          int (*Table::*kMember)(Lock*, Args...), bool kReads>
struct Acquire<kTable, kMember, kReads> {
  static int call(Lock* l, Args... args) noexcept {
    pass(Point::before_acquire);
    const bool waits = chooses_turns(settings) && is_taken(l, kReads) && is_valid_deadline(args...);
    const int result = waits ? in_turn(l, args...) : (kTable.*kMember)(l, args...);
    pass(Point::after_acquire);
    return result;
  }

 private:
  static int in_turn(Lock* l, Args... args) noexcept {
    Gate gate(l, my_turn_number(), sizeof...(Args) != 0);
    while (gate.turn() && is_taken(l, kReads)) {}
    // The thread is in the gate until it has the lock, so that none with a lower number overtakes.
    return (kTable.*kMember)(l, args...);
  }
};
template <auto& kTable, auto kMember>
struct Release;
template <class Table, Table& kTable, class Lock, int (*Table::*kMember)(Lock*)>
struct Release<kTable, kMember> {
  static int call(Lock* l) noexcept {
    pass(Point::before_release);
    const int result = (kTable.*kMember)(l);
    open_gate();
    pass(Point::after_release);
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
    if (pass(Point::before_wait) && is_valid_deadline(args...)) {
      pthread_testcancel();
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
inline constexpr auto rw_try =
    Around<system_rwlock, kMember, Point::before_acquire, Point::after_acquire>::call;
template <auto kMember>
inline constexpr auto rw_read = Acquire<system_rwlock, kMember, true>::call;
template <auto kMember>
inline constexpr auto rw_write = Acquire<system_rwlock, kMember>::call;
inline constexpr RwOps disturbed_rwlock{
    Plain<system_rwlock, &RwOps::init>::call,
    Plain<system_rwlock, &RwOps::destroy>::call,
    rw_read<&RwOps::rdlock>,
    rw_try<&RwOps::tryrdlock>,
    rw_read<&RwOps::timedrdlock>,
    rw_read<&RwOps::clockrdlock>,
    rw_write<&RwOps::wrlock>,
    rw_try<&RwOps::trywrlock>,
    rw_write<&RwOps::timedwrlock>,
    rw_write<&RwOps::clockwrlock>,
    Release<system_rwlock, &RwOps::unlock>::call,
};

template <auto kMember>
inline constexpr auto mutex_acquire = Acquire<system_mutex, kMember>::call;
inline constexpr MutexOps disturbed_mutex{
    Plain<system_mutex, &MutexOps::init>::call,
    Plain<system_mutex, &MutexOps::destroy>::call,
    mutex_acquire<&MutexOps::lock>,
    Around<system_mutex, &MutexOps::trylock, Point::before_acquire, Point::after_acquire>::call,
    mutex_acquire<&MutexOps::timedlock>,
    mutex_acquire<&MutexOps::clocklock>,
    Release<system_mutex, &MutexOps::unlock>::call,
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
inline constexpr CondOps disturbed_chosen_cond = disturbed_conds<chosen_cond>;

}  // namespace lockswap::fuzz
