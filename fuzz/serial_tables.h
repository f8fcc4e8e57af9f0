// The POSIX functions that run one thread at a time by serial.h, in front of those of the next
// library.
#pragma once

#include <cerrno>
#include <ctime>
#include <pthread.h>

#include "fuzz/live.h"
#include "fuzz/serial.h"
#include "fuzz/tables.h"
#include "platform/object_layout.h"

namespace lockswap::fuzz {

struct Serial {
  static int on(auto call, auto... args) noexcept { return call.next(args...); }

  template <LockCall C>
  static int on(C call, auto* l, auto... args) noexcept {
    serial::point(C::kReads ? serial::Kind::lock_shared : serial::Kind::lock, l, call.caller);
    const int result = acquire(call, l, args...);
    if (result == 0 || result == EOWNERDEAD) {
      note_hold(l, call.caller, waits_for(l, C::kReads));
    } else if (result == EBUSY) {
      serial::point(serial::Kind::attempt, l, call.caller);
    } else if (result == ETIMEDOUT) {
      serial::wake_all(l);  // readers that the writer has shut out
    }
    count_point();
    return result;
  }
  static int on(UnlockCall auto call, auto* l) noexcept {
    const int result = call.next(l);
    if (result == 0) forget_hold(l);
    serial::wake_all(l);
    serial::point(serial::Kind::unlock, l, call.caller);
    count_point();
    return result;
  }
  template <WaitCall C>
  static int on(C call, pthread_cond_t* c, pthread_mutex_t* m, auto... args) {
    if (!is_valid_deadline(args...) || (flags(c) & kCondIsShared) != 0)
      return C::next(c, m, args...);
    serial::point(serial::Kind::wait, c, call.caller);
    pthread_testcancel();
    if (const int error = system_mutex.unlock(m); error != 0) return error;
    const void* const caller = forget_hold(m);
    serial::wake_all(m);
    bool woken = false;
    {
      const Waiting waiting(Waits::cond, c, m, C::kHasDeadline, call.caller, true);
      woken = serial::wait_for(c, C::kHasDeadline);
      if (!woken) sleep_until(c, args...);
    }
    int error = 0;
    {
      const Waiting waiting(Waits::mutex, m, nullptr, false, call.caller, true);
      while (is_taken(m, false))
        serial::wait_for(m, false);
      error = system_mutex.lock(m);
    }
    note_hold(m, caller != nullptr ? caller : call.caller, Waits::mutex);
    count_point();
    pthread_testcancel();  // a cancelled thread was woken for that
    if (error != 0) return error;
    return woken ? 0 : ETIMEDOUT;
  }
  template <SignalCall C>
  static int on(C call, pthread_cond_t* c) noexcept {
    if ((flags(c) & kCondIsShared) != 0) return C::next(c);
    constexpr bool kAll = C::kAct == lockswap::Act::broadcast;
    serial::point(kAll ? serial::Kind::broadcast : serial::Kind::signal, c, call.caller);
    note_signal(c, call.caller, kAll);
    if (kAll) {
      serial::wake_all(c);
    } else {
      serial::wake_one(c);
    }
    count_point();
    return 0;
  }

 private:
  static unsigned flags(const pthread_cond_t* c) noexcept {
    return flags_in(c, object_layout.cond_flags);
  }
  static void sleep_until(pthread_cond_t*) noexcept {}
  static void sleep_until(pthread_cond_t* c, const timespec* at) noexcept {
    sleep_until(c, (flags(c) & kCondIsMonotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME, at);
  }
  static void sleep_until(pthread_cond_t*, clockid_t clock, const timespec* at) noexcept {
    raw_syscall(SYS_clock_nanosleep, clock, TIMER_ABSTIME, reinterpret_cast<long>(at), 0);
  }
  static bool has_to_wait(const pthread_mutex_t* m, bool reads) noexcept {
    return is_taken(m, reads);
  }
  // The lock does not know of waiting writers, since they don't enter it.
  static bool has_to_wait(const pthread_rwlock_t* l, bool reads) noexcept {
    if (is_taken(l, reads)) return true;
    return reads && l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP &&
           serial::is_waited_for_to_write(l);
  }
  template <class C>
  static int acquire(C call, auto* l, auto... args) noexcept {
    if constexpr (C::kForm != Form::attempt) {
      if (is_valid_deadline(args...) && has_to_wait(l, C::kReads)) {
        const Waiting waiting(waits_for(l, C::kReads), l, nullptr, C::kHasDeadline, call.caller,
                              true);
        // When its deadline has passed, the thread makes the call, which knows what to return.
        while (has_to_wait(l, C::kReads) && serial::wait_for(l, C::kHasDeadline, !C::kReads)) {}
        return C::next(l, args...);
      }
    }
    return C::next(l, args...);
  }
};

inline constexpr RwOps serial_rwlock = around<Serial, system_rwlock>;
inline constexpr MutexOps serial_mutex = around<Serial, system_mutex>;
inline constexpr CondOps serial_cond = around<Serial, system_cond>;

}  // namespace lockswap::fuzz
