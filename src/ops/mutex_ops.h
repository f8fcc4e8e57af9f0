// The POSIX functions for a mutex algorithm. This level passes glibc's mutexes to glibc and checks
// time-outs. Everything else is in mutex_contract.h.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "locks/common/events.h"
#include "ops/fresh_object.h"
#include "platform/clock.h"
#include "platform/system_mutex.h"
#include "posix/mutex_contract.h"
#include "probes/probes.h"
#include "probes/slow_probes.h"

namespace lockswap {

template <class Contract, EventCounter Count>
class MutexLockOps {
  template <class OtherContract, EventCounter Other>
  friend class MutexLockOps;
  using Frame = typename Contract::Frame;
  static_assert(sizeof(Frame) <= sizeof(pthread_mutex_t));
  static_assert(alignof(Frame) <= alignof(pthread_mutex_t));
  static_assert(sizeof(Frame::core) <= kMutexCoreBytes);
  static_assert(offsetof(Frame, owner) == offsetof(pthread_mutex_t, __data.__owner));
  static_assert(offsetof(Frame, kind) == offsetof(pthread_mutex_t, __data.__kind));
  static_assert(offsetof(Frame, contract) == 24);

  static Frame& frame(pthread_mutex_t* m) noexcept { return *reinterpret_cast<Frame*>(m); }

  // Returns false if the object is glibc's.
  static bool ours(pthread_mutex_t* m) noexcept {
    if (Contract::is_adopted(frame(m))) [[likely]]
      return true;
    return Slow::adopt(m);
  }
  // For the first call on an object, and for calls on an object of glibc's.
  [[gnu::noinline]] static bool adopt(pthread_mutex_t* m) noexcept {
    if (Contract::is_ours(frame(m)) && Contract::adopt(frame(m))) return true;
    Count::on(m, Event::mutex_to_glibc);
    return false;
  }

  // Called when a fast stage has acquired the mutex.
  [[gnu::always_inline]] static int acquired(pthread_mutex_t* m) noexcept {
    if constexpr (Count::kCounts) return probes::mutex_acquired(m, 0);
    probes::mutex_acquired(m);
    return 0;
  }

  static int init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) noexcept {
    Count::on(m, Event::mutex_call);
    const auto before = [m] { Contract::before_init(frame(m)); };
    const int error = make_fresh(m, attributes, system_mutex.init, before);
    if (error == 0 && Contract::is_ours(frame(m))) Contract::begin(frame(m));
    return error;
  }
  static int destroy(pthread_mutex_t* m) noexcept {
    Count::on(m, Event::mutex_call);
    if (Contract::is_adopted(frame(m)) || Contract::is_ours(frame(m)))
      return Contract::destroy(frame(m));
    Count::on(m, Event::mutex_to_glibc);
    return system_mutex.destroy(m);
  }

  // The two functions that programs call most. Their fast stages make no call and need no stack
  // frame.
  static int lock(pthread_mutex_t* m) noexcept {
    Count::on(m, Event::mutex_call);
    if (!Contract::is_plain(frame(m))) [[unlikely]]
      return lock_checked(m);
    const std::uint64_t rest = Contract::fast_lock(frame(m));
    return rest == 0 ? acquired(m) : Slow::slow_lock(m, rest);
  }
  [[gnu::noinline]] static int slow_lock(pthread_mutex_t* m, std::uint64_t rest) noexcept {
    const std::uint64_t since = probes::slow_begins(probes::Slow::mutex);
    Contract::slow_lock(frame(m), rest);
    // Fast stages jump to slow ones, so the return address is in the program.
    probes::slow_ends(probes::Slow::mutex, m, since, __builtin_return_address(0));
    return probes::mutex_acquired(m, 0);
  }
  // Usually for a mutex that checks its owner.
  [[gnu::noinline]] static int lock_checked(pthread_mutex_t* m) noexcept {
    const std::uint32_t me = Contract::known_id(frame(m));
    if (me == 0) [[unlikely]]
      return Slow::lock_any(m);
    if (Contract::is_owned(frame(m), me))
      return probes::mutex_acquired(m, Contract::lock_again(frame(m)));
    const std::uint64_t rest = Contract::fast_lock(frame(m), me);
    return rest == 0 ? acquired(m) : Slow::slow_lock(m, rest);
  }
  [[gnu::noinline]] static int lock_any(pthread_mutex_t* m) noexcept {
    const bool is_ours = ours(m);
    return probes::mutex_acquired(m, is_ours ? Contract::lock(frame(m)) : system_mutex.lock(m));
  }
  static int unlock(pthread_mutex_t* m) noexcept {
    Count::on(m, Event::mutex_call);
    if (!Contract::is_plain(frame(m))) [[unlikely]]
      return unlock_checked(m);
    const std::uint32_t rest = Contract::fast_unlock(frame(m));
    return rest == 0 ? 0 : Slow::slow_unlock(m, rest);
  }
  [[gnu::noinline]] static int slow_unlock(pthread_mutex_t* m, std::uint32_t rest) noexcept {
    Contract::slow_unlock(frame(m), rest);
    return 0;
  }
  [[gnu::noinline]] static int unlock_checked(pthread_mutex_t* m) noexcept {
    const std::uint32_t me = Contract::known_id(frame(m));
    if (me == 0 || !Contract::is_owned(frame(m), me)) [[unlikely]]
      return Slow::unlock_any(m);
    if (Contract::unlock_again(frame(m))) return 0;
    const std::uint32_t rest = Contract::fast_unlock(frame(m));
    return rest == 0 ? 0 : Slow::slow_unlock(m, rest);
  }
  [[gnu::noinline]] static int unlock_any(pthread_mutex_t* m) noexcept {
    return ours(m) ? Contract::unlock(frame(m)) : system_mutex.unlock(m);
  }

  static int trylock(pthread_mutex_t* m) noexcept {
    Count::on(m, Event::mutex_call);
    if (!ours(m)) return probes::mutex_acquired(m, system_mutex.trylock(m));
    const int error = Contract::try_lock(frame(m));
    return error == 0 ? acquired(m) : error;
  }
  [[gnu::noinline]] static int clocklock(pthread_mutex_t* m, clockid_t clock,
                                         const timespec* at) noexcept {
    Count::on(m, Event::mutex_call);
    if (!ours(m)) return probes::mutex_timedlock_acquired(m, system_mutex.clocklock(m, clock, at));
    if (!is_valid_clock(clock)) return EINVAL;
    const Deadline deadline{clock, *at};
    const auto valid = [](const Deadline& d) { return is_valid_time(d.at); };
    return probes::mutex_timedlock_acquired(m, Contract::lock_until(frame(m), &deadline, valid));
  }
  static int timedlock(pthread_mutex_t* m, const timespec* at) noexcept {
    return clocklock(m, CLOCK_REALTIME, at);
  }

 public:
  // The slow stages, and the functions that have no fast stage.
  using Slow = MutexLockOps<typename Contract::Slow, typename Count::Slow>;

  // For condition variables.
  static bool is_ours(pthread_mutex_t* m) noexcept { return Contract::is_ours(frame(m)); }
  static void count_waiter(pthread_mutex_t* m, bool begins) noexcept {
    begins ? Contract::add_waiter(frame(m)) : Contract::remove_waiter(frame(m));
  }

  static constexpr MutexOps table{Slow::init,      Slow::destroy,   lock,  trylock,
                                  Slow::timedlock, Slow::clocklock, unlock};
};

}  // namespace lockswap
