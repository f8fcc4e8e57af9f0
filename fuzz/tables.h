// The POSIX functions with points around them, in front of those of the next library.
#pragma once

#include <cerrno>
#include <ctime>
#include <pthread.h>

#include "fuzz/conds.h"
#include "fuzz/disturb.h"
#include "fuzz/gate.h"
#include "fuzz/live.h"
#include "platform/looks.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap::fuzz {

inline bool is_taken(const pthread_mutex_t* m, bool) noexcept {
  return Looks::at(m) == Look::taken;
}
inline bool is_taken(const pthread_rwlock_t* l, bool reads) noexcept {
  return (reads ? Looks::at<true>(l) : Looks::at<false>(l)) == Look::taken;
}

inline Waits waits_for(const pthread_mutex_t*, bool) noexcept { return Waits::mutex; }
inline Waits waits_for(const pthread_rwlock_t*, bool reads) noexcept {
  return reads ? Waits::to_read : Waits::to_write;
}

struct Disturb {
  // Functions that are not disturbed.
  static int on(auto call, auto... args) noexcept { return call.next(args...); }

  // An acquisition, which waits for its turn if the lock is taken.
  template <LockCall C>
  static int on(C call, auto* l, auto... args) noexcept {
    pass(Point::before_acquire);
    const int result = acquire(call, l, args...);
    if (result == 0 || result == EOWNERDEAD) note_hold(l, call.caller, waits_for(l, C::kReads));
    pass(Point::after_acquire);
    return result;
  }
  static int on(UnlockCall auto call, auto* l) noexcept {
    pass(Point::before_release);
    const int result = call.next(l);
    if (result == 0) forget_hold(l);
    open_gate();
    pass(Point::after_release);
    return result;
  }
  // A wait, which may return spuriously, as POSIX allows.
  template <WaitCall C>
  static int on(C call, pthread_cond_t* c, pthread_mutex_t* m, auto... args) {
    int result = 0;
    if (pass(Point::before_wait) && is_valid_deadline(args...)) {
      pthread_testcancel();
      // Not if the caller doesn't hold the mutex, or holds it recursively: the next library handles
      // that.
      result = system_mutex.unlock(m);
      if (result == 0) {
        pass(Point::after_release);
        result = system_mutex.lock(m);
      }
    } else {
      // A condition variable of ours acquires the mutex through the functions in this table.
      const void* const caller = forget_hold(m);
      {
        const Waiting waiting(Waits::cond, c, m, C::kHasDeadline, call.caller, true);
        result = call.next(c, m, args...);
      }
      if (caller != nullptr) {
        forget_hold(m);
        note_hold(m, caller, Waits::mutex);
      }
    }
    pass(Point::after_wait);
    return result;
  }
  template <SignalCall C>
  static int on(C call, pthread_cond_t* c) noexcept {
    pass(Point::before_signal);
    note_signal(c, call.caller, C::kAct == lockswap::Act::broadcast);
    const int result = call.next(c);
    pass(Point::after_signal);
    return result;
  }

 private:
  template <class C>
  static int acquire(C call, auto* l, auto... args) noexcept {
    if constexpr (C::kForm == Form::attempt) return C::next(l, args...);
    const bool taken = is_taken(l, C::kReads);
    const Waiting waiting(waits_for(l, C::kReads), l, nullptr, C::kHasDeadline, call.caller, taken);
    const bool waits = taken && chooses_turns(settings) && is_valid_deadline(args...);
    return waits ? in_turn<C>(l, args...) : C::next(l, args...);
  }
  template <class C>
  static int in_turn(auto* l, auto... args) noexcept {
    Gate gate(l, my_turn_number(), C::kHasDeadline);
    while (gate.turn() && is_taken(l, C::kReads)) {}
    // The thread stays in the gate until it has the lock, so that none with a lower number
    // overtakes it.
    return C::next(l, args...);
  }
};

inline constexpr RwOps disturbed_rwlock = around<Disturb, system_rwlock>;
inline constexpr MutexOps disturbed_mutex = around<Disturb, system_mutex>;
inline constexpr CondOps disturbed_cond = around<Disturb, system_cond>;
inline constexpr CondOps disturbed_old_cond = around<Disturb, system_old_cond>;
inline constexpr CondOps disturbed_chosen_cond = around<Disturb, chosen_cond>;

}  // namespace lockswap::fuzz
