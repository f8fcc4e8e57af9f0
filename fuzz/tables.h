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

inline bool is_taken(const pthread_mutex_t* m, bool) noexcept {
  return Looks::at(m) == Look::taken;
}
inline bool is_taken(const pthread_rwlock_t* l, bool reads) noexcept {
  return (reads ? Looks::at<true>(l) : Looks::at<false>(l)) == Look::taken;
}

struct Disturb {
  // What is not disturbed.
  static int on(auto call, auto... args) noexcept { return call.next(args...); }

  // An acquisition that waits for its turn if the lock is taken.
  template <LockCall C>
  static int on(C call, auto* l, auto... args) noexcept {
    pass(Point::before_acquire);
    const bool waits = C::kForm != Form::attempt && chooses_turns(settings) &&
                       is_taken(l, C::kReads) && is_valid_deadline(args...);
    const int result = waits ? in_turn<C>(l, args...) : call.next(l, args...);
    pass(Point::after_acquire);
    return result;
  }
  static int on(UnlockCall auto call, auto* l) noexcept {
    pass(Point::before_release);
    const int result = call.next(l);
    open_gate();
    pass(Point::after_release);
    return result;
  }
  // A wait, which may return for no reason: POSIX allows it.
  static int on(WaitCall auto call, pthread_cond_t* c, pthread_mutex_t* m, auto... args) {
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
      result = call.next(c, m, args...);
    }
    pass(Point::after_wait);
    return result;
  }
  static int on(SignalCall auto call, pthread_cond_t* c) noexcept {
    pass(Point::before_signal);
    const int result = call.next(c);
    pass(Point::after_signal);
    return result;
  }

 private:
  template <class C>
  static int in_turn(auto* l, auto... args) noexcept {
    Gate gate(l, my_turn_number(), C::kHasDeadline);
    while (gate.turn() && is_taken(l, C::kReads)) {}
    // The thread is in the gate until it has the lock, so that none with a lower number overtakes.
    return C::next(l, args...);
  }
};

inline constexpr RwOps disturbed_rwlock = around<Disturb, system_rwlock>;
inline constexpr MutexOps disturbed_mutex = around<Disturb, system_mutex>;
inline constexpr CondOps disturbed_cond = around<Disturb, system_cond>;
inline constexpr CondOps disturbed_old_cond = around<Disturb, system_old_cond>;
inline constexpr CondOps disturbed_chosen_cond = around<Disturb, chosen_cond>;

}  // namespace lockswap::fuzz
