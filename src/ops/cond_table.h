// The POSIX functions for our condition variables, for each layout that a program's objects may
// have: two of today, and the one from before glibc 2.3.2. Process-shared ones stay glibc's.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <pthread.h>

#include "platform/cancel.h"
#include "platform/clock.h"
#include "platform/native.h"
#include "platform/object_layout.h"
#include "platform/system_mutex.h"
#include "posix/condvar.h"
#include "wait/park.h"

namespace lockswap {

using NativeCond = Condvar<Native, Park<Native>>;

// Objects since glibc 2.3.2, in each of their layouts.
template <CondFlags kFlags>
struct NewCond {
  static constexpr std::size_t kByte = byte_of(kFlags);
  static_assert(sizeof(NativeCond) <= kByte && kByte + sizeof(unsigned) <= sizeof(pthread_cond_t));
  static unsigned flags(const pthread_cond_t* c) noexcept { return flags_in(c, kFlags); }
  static constexpr bool kHasAttributes = true;
  static const CondOps& system() noexcept { return system_cond; }
};
// Objects from before glibc 2.3.2.
struct OldCond {
  static_assert(sizeof(NativeCond) <= 24);  // the room in objects of such programs
  static unsigned flags(const pthread_cond_t*) noexcept { return 0; }
  static constexpr bool kHasAttributes = false;
  static const CondOps& system() noexcept { return system_old_cond; }
};

// Waiter: a wait's mutex, and what the wait does with it.
//   unlock(), lock(is_awake)  return 0 or an errno, as for Condvar::wait
//   is_ours()                 whether glibc's functions can't release the mutex
//   key(), priority()         for Condvar::wait
template <class Layout, class Waiter>
class CondTable {
  static NativeCond& state(pthread_cond_t* c) noexcept { return *reinterpret_cast<NativeCond*>(c); }
  static bool is_glibcs(const pthread_cond_t* c) noexcept {
    return (Layout::flags(c) & kCondIsShared) != 0;
  }

  static int init(pthread_cond_t* c, const pthread_condattr_t* attributes) noexcept {
    if constexpr (Layout::kHasAttributes) {
      return system_cond.init(c, attributes);  // zeroes, then sets the flags
    } else {
      // glibc's init rejects attributes for which such an object has no room.
      const int error = Layout::system().init(c, attributes);
      if (error == 0) new (c) NativeCond{};
      return error;
    }
  }
  static int destroy(pthread_cond_t* c) noexcept {
    if (is_glibcs(c)) return Layout::system().destroy(c);
    state(c).destroy();
    return 0;
  }

  static int wait_until(pthread_cond_t* c, pthread_mutex_t* m, const Deadline* deadline) noexcept {
    if (deadline != nullptr && !is_valid_time(deadline->at)) return EINVAL;
    Waiter waiter(m);
    if (is_glibcs(c) && !waiter.is_ours()) {
      const CondOps& system = Layout::system();
      return deadline == nullptr ? system.wait(c, m)
                                 : system.clockwait(c, m, deadline->clock, &deadline->at);
    }
    const DeferredCancellation deferred;
    CancellableSleep sleep;
    const auto unlock = [&waiter] { return waiter.unlock(); };
    const auto lock = [&waiter](bool is_awake) { return waiter.lock(is_awake); };
    // With a mutex of ours glibc can't wait: it would release the mutex by its own code.
    const NativeCond::Outcome o =
        is_glibcs(c)
            ? NativeCond::wait_shortly(sleep, deadline, unlock, lock)
            : state(c).wait(waiter.key(), sleep, deadline, unlock, lock, waiter.priority());
    if (o.cancelled) sleep.go_on();
    return o.error;
  }
  static int wait(pthread_cond_t* c, pthread_mutex_t* m) noexcept {
    return wait_until(c, m, nullptr);
  }
  static int timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at) noexcept {
    const bool monotonic = (Layout::flags(c) & kCondIsMonotonic) != 0;
    return clockwait(c, m, monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, at);
  }
  static int clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                       const timespec* at) noexcept {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    const Deadline deadline{clock, *at};
    return wait_until(c, m, &deadline);
  }
  static int signal(pthread_cond_t* c) noexcept {
    if (is_glibcs(c)) return Layout::system().signal(c);
    state(c).signal();
    return 0;
  }
  static int broadcast(pthread_cond_t* c) noexcept {
    if (is_glibcs(c)) return Layout::system().broadcast(c);
    state(c).broadcast();
    return 0;
  }

 public:
  static constexpr CondOps table{init, destroy, wait, timedwait, clockwait, signal, broadcast};
};

// Returns the table for objects with this C library's layout, after learn_cond_layout has found it.
template <class Waiter>
const CondOps& cond_table() noexcept {
  static constexpr CondOps kAt36 = CondTable<NewCond<CondFlags::at_byte_36>, Waiter>::table;
  static constexpr CondOps kAt28 = CondTable<NewCond<CondFlags::at_byte_28>, Waiter>::table;
  return object_layout.cond_flags == CondFlags::at_byte_28 ? kAt28 : kAt36;
}

}  // namespace lockswap
