// The POSIX functions for a lock algorithm. This level checks time-outs, and passes to the system
// what is process-shared, or what the kill switch has left to it. Everything else is in
// rw_contract.h.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "locks/common/events.h"
#include "ops/fresh_object.h"
#include "platform/clock.h"
#include "platform/system_rwlock.h"
#include "posix/rw_contract.h"
#include "probes/probes.h"
#include "probes/slow_probes.h"

namespace lockswap {

// glibc checks the clock and the nanoseconds before it looks at the lock, and so do we.
inline bool valid(const Deadline& d) noexcept {
  return is_valid_clock(d.clock) && is_valid_time(d.at);
}

template <class Contract, EventCounter Count>
class RwLockOps {
  template <class OtherContract, EventCounter Other>
  friend class RwLockOps;
  using Frame = typename Contract::Frame;
  using Rest = typename Contract::Rest;
  static_assert(sizeof(Frame) == sizeof(pthread_rwlock_t));
  static_assert(alignof(Frame) <= alignof(pthread_rwlock_t));
#if defined(__x86_64__) || defined(__aarch64__)
  static_assert(offsetof(Frame, writer) == offsetof(pthread_rwlock_t, __data.__cur_writer));
  static_assert(offsetof(Frame, shared) == offsetof(pthread_rwlock_t, __data.__shared));
  static_assert(offsetof(Frame, kind) == offsetof(pthread_rwlock_t, __data.__flags));
  static_assert(offsetof(Frame, contract) == 32 && offsetof(Frame, bias) == 40);
#endif

  static Frame& frame(pthread_rwlock_t* l) noexcept { return *reinterpret_cast<Frame*>(l); }

  // Returns false if the object is the system's.
  static bool ours(pthread_rwlock_t* l) noexcept {
    Count::on(l, Event::call);
    if (Contract::adopted(frame(l))) [[likely]]
      return true;
    return Slow::adopt(l);
  }
  // For the first call on an object, and for calls on an object of the system's.
  [[gnu::noinline]] static bool adopt(pthread_rwlock_t* l) noexcept {
    if (frame(l).shared == 0 && Contract::adopt(frame(l))) return true;
    Count::on(l, Event::to_glibc);
    return false;
  }

  enum class Hold : bool { read, write };
  // Called when an acquisition ends.
  template <Hold kHold>
  static int acquired(pthread_rwlock_t* l, int error) noexcept {
    return kHold == Hold::read ? probes::rdlock_acquire_read(l, error)
                               : probes::wrlock_acquire_write(l, error);
  }
  // The same for a fast stage.
  template <Hold kHold>
  [[gnu::always_inline]] static int acquired_fast(pthread_rwlock_t* l) noexcept {
    if constexpr (Count::kCounts) return acquired<kHold>(l, 0);
    kHold == Hold::read ? probes::rdlock_acquire_read(l) : probes::wrlock_acquire_write(l);
    return 0;
  }

  static int init(pthread_rwlock_t* l, const pthread_rwlockattr_t* attributes) noexcept {
    Count::on(l, Event::call);
    const auto before = [l] { Contract::before_init(frame(l)); };
    const int error = make_fresh(l, attributes, system_rwlock.init, before);
    if (error == 0 && frame(l).shared == 0) Contract::begin(frame(l));
    return error;
  }
  static int destroy(pthread_rwlock_t* l) noexcept {
    Count::on(l, Event::call);
    const bool is_systems = frame(l).shared != 0 || Contract::is_systems(frame(l));
    if (is_systems && !Contract::adopted(frame(l))) {
      Count::on(l, Event::to_glibc);
      return system_rwlock.destroy(l);
    }
    Contract::destroy(frame(l));
    return 0;
  }

  // The two functions that programs call most. Their fast stages make no call and need no stack
  // frame.
  static int rdlock(pthread_rwlock_t* l) noexcept {
    Count::on(l, Event::call);
    const Rest rest = Contract::fast_read(frame(l));
    return rest == 0 ? acquired_fast<Hold::read>(l) : nested_rdlock(l, rest);
  }
  // Out of line, so that a thread's first hold needs no stack frame. It jumps to slow_rdlock.
  [[gnu::noinline]] static int nested_rdlock(pthread_rwlock_t* l, Rest rest) noexcept {
    if (rest == Contract::kNotBegun) rest = Contract::nested_read(frame(l));
    return rest == 0 ? acquired_fast<Hold::read>(l) : Slow::slow_rdlock(l, rest);
  }
  [[gnu::noinline]] static int slow_rdlock(pthread_rwlock_t* l, Rest rest) noexcept {
    const bool is_ours = Contract::adopted(frame(l)) || adopt(l);
    const std::uint64_t since = probes::slow_begins(probes::Slow::read);
    const int error =
        is_ours ? Contract::slow_read(frame(l), rest, nullptr) : system_rwlock.rdlock(l);
    // The fast stage jumps here, so the return address is in the program.
    probes::slow_ends(probes::Slow::read, l, since, __builtin_return_address(0));
    return acquired<Hold::read>(l, error);
  }
  static int unlock(pthread_rwlock_t* l) noexcept {
    Count::on(l, Event::call);
    std::uint32_t token;
    if (Contract::has_only_hold(frame(l), token)) [[likely]] {
      return Contract::fast_read_unlock(frame(l), token);
    }
    // An object of glibc's may name this thread as its writer, but it is not adopted.
    if (Contract::is_own_write(frame(l)) && Contract::adopted(frame(l))) {
      return Contract::fast_write_unlock(frame(l)) ? 0 : write_unlock(l);
    }
    return nested_unlock(l);
  }
  // Out of line, so that the fast stages need no stack frame.
  [[gnu::noinline]] static int write_unlock(pthread_rwlock_t* l) noexcept {
    Contract::write_unlock(frame(l));
    return 0;
  }
  [[gnu::noinline]] static int nested_unlock(pthread_rwlock_t* l) noexcept {
    int result = 0;
    return Contract::nested_read_unlock(frame(l), result) ? result : Slow::slow_unlock(l);
  }
  [[gnu::noinline]] static int slow_unlock(pthread_rwlock_t* l) noexcept {
    if (!Contract::adopted(frame(l)) && !adopt(l)) return system_rwlock.unlock(l);
    return Contract::slow_unlock(frame(l));
  }

  static int wrlock(pthread_rwlock_t* l) noexcept {
    if constexpr (FastWriteCore<decltype(Frame::core)>) {
      Count::on(l, Event::call);
      const Below below = Contract::fast_write(frame(l));
      return below == Below::in ? acquired_fast<Hold::write>(l) : slow_wrlock(l, below);
    }
    if (!ours(l)) [[unlikely]]
      return system_rwlock.wrlock(l);
    const int error = Contract::write_lock(frame(l));
    return error == 0 ? acquired_fast<Hold::write>(l) : error;
  }
  // Called if the fast stage has begun nothing, or has only the lock below.
  [[gnu::noinline]] static int slow_wrlock(pthread_rwlock_t* l, Below below) noexcept {
    const bool is_ours = below == Below::arrived || Contract::adopted(frame(l)) || Slow::adopt(l);
    if (!is_ours) return system_rwlock.wrlock(l);
    const int error = below == Below::arrived ? Contract::go_on_writing(frame(l))
                                              : Contract::write_lock(frame(l));
    return error == 0 ? acquired_fast<Hold::write>(l) : error;
  }

  // Acquisitions that don't wait, or that have a deadline, of either mode.
  template <Hold kHold>
  static int acquire(pthread_rwlock_t* l, Patience patience) noexcept {
    if constexpr (kHold == Hold::read) {
      return acquired<kHold>(l, Contract::read_lock(frame(l), patience));
    } else {
      return acquired<kHold>(l, Contract::write_lock(frame(l), patience));
    }
  }
  template <Hold kHold>
  static int try_lock(pthread_rwlock_t* l) noexcept {
    if (!ours(l)) [[unlikely]]
      return (kHold == Hold::read ? system_rwlock.tryrdlock : system_rwlock.trywrlock)(l);
    return acquire<kHold>(l, {.only_try = true});
  }
  template <Hold kHold>
  [[gnu::noinline]] static int clock_lock(pthread_rwlock_t* l, clockid_t clock,
                                          const timespec* at) noexcept {
    constexpr bool kReads = kHold == Hold::read;
    if (!ours(l)) [[unlikely]]
      return (kReads ? system_rwlock.clockrdlock : system_rwlock.clockwrlock)(l, clock, at);
    if (at == nullptr)  // glibc's "no deadline"
      return kReads ? acquire<kHold>(l, {}) : wrlock(l);
    const Deadline deadline{clock, *at};
    if (!valid(deadline)) return EINVAL;
    return acquire<kHold>(l, {.deadline = &deadline});
  }
  template <Hold kHold>
  static int timed_lock(pthread_rwlock_t* l, const timespec* at) noexcept {
    return clock_lock<kHold>(l, CLOCK_REALTIME, at);
  }

 public:
  // The slow stages, and the functions that have no fast stage.
  using Slow = RwLockOps<typename Contract::Slow, typename Count::Slow>;

  // The object must not be process-shared.
  static bool adopt_unused(pthread_rwlock_t* l) noexcept {
    return Contract::adopt_unused(frame(l));
  }

  static constexpr RwOps table{.init = Slow::init,
                               .destroy = Slow::destroy,
                               .rdlock = rdlock,
                               .tryrdlock = try_lock<Hold::read>,
                               .timedrdlock = Slow::template timed_lock<Slow::Hold::read>,
                               .clockrdlock = Slow::template clock_lock<Slow::Hold::read>,
                               .wrlock = wrlock,
                               .trywrlock = try_lock<Hold::write>,
                               .timedwrlock = Slow::template timed_lock<Slow::Hold::write>,
                               .clockwrlock = Slow::template clock_lock<Slow::Hold::write>,
                               .unlock = unlock};
};

}  // namespace lockswap
