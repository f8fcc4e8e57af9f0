// The part of the POSIX contract that mutex algorithms lack: who owns the mutex, the kinds that
// depend on it, and fork. It goes over any MutexCore.
//
// Idea: normal and adaptive mutexes are the lock below and the owner's id, stored beside it.
//   Recursive and errorcheck ones compare that id with their own first: only the owner itself can
//   find its own id there, so the comparison needs no order.
// State: the frame's owner, again, and the contract word: bits 31 to 39, the stamp of the process
//   that adopted the mutex (P::process); below, kRecursive and kErrorcheck; 0 in fresh memory. A
//   word that is a stamp and nothing else is the common case, and one comparison.
// Invariants: the owner is set after the lock below is acquired, and cleared before it is released.
// Fork: in a child the hold stays, as mine if the thread that forked has it, else for ever; nobody
//   waits: the threads that did do not exist. See adoption.h. A thread between the lock below and
//   its owner's id was still to get it, or is done.
// Fairness, space: those of the lock below, and 16 bytes in the frame.
// Destroy is safe as it is in the lock below.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/mutex_layout.h"
#include "locks/concept.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/adoption.h"

namespace lockswap {

template <Platform P, MutexCore Core, EventCounter Count>
class MutexContract {
 public:
  using Frame = MutexFrame<P, Core>;
  static constexpr Claims kClaims = Core::kClaims;

  static bool prepare() noexcept { return Core::prepare(); }

  // --- whose it is: for each call on an object that is not known to be ours

  // By the kind alone. False: the object is glibc's.
  static bool is_ours(const Frame& f) noexcept { return (f.kind & mutex_kind::kGlibcs) == 0; }

  static void adopt(Frame& f) noexcept {
    Adoption<P>::adopt(
        f.contract, kind_of(f), [&f](std::uint64_t v) { return needs_no_repair(f, v); },
        [&f](std::uint64_t v) { repair_after_fork(f, v); });
  }
  static bool is_adopted(const Frame& f) noexcept {
    return Adoption<P>::is_done(f.contract, kKinds);
  }

  // Under pthread_mutex_init, before the bytes are zeroed: they may be those of a mutex that was
  // here and was not destroyed, or anything.
  static void before_init(Frame& f) noexcept {
    if constexpr (BlockCore<Core>) f.core.before_init();
  }
  // Under pthread_mutex_init, on an object that is zero but for its kind: nobody else may use it.
  static void begin(Frame& f) noexcept {
    f.contract.store(P::process() | kind_of(f), relaxed);  // the program hands the object on
  }

  // --- the hot paths: they make no call and need no stack. 0: done. Else go on with the rest.

  // A normal or adaptive mutex that this process has adopted.
  static bool is_plain(const Frame& f) noexcept { return Adoption<P>::is_done(f.contract, 0); }
  [[gnu::always_inline]] static std::uint64_t plain_lock(Frame& f) noexcept {
    // relaxed: does not change. Of a plain mutex it is the stamp.
    const std::uint32_t me = P::tid_at(f.contract.load(relaxed));
    return me != 0 ? lock_begin(f, me) : kNotBegun;
  }
  static void plain_lock_rest(Frame& f, std::uint64_t rest) noexcept {
    if constexpr (FastMutexCore<Core>) {
      rest == kNotBegun ? f.core.lock() : f.core.slow_lock(rest);
    } else {
      f.core.lock();  // without a fast part, only kNotBegun leads here
    }
    own(f, P::tid());
  }
  // By any thread.
  [[gnu::always_inline]] static std::uint32_t plain_unlock(Frame& f) noexcept {
    f.owner.store(0, relaxed);  // nobody but the owner looks for a certain id
    if constexpr (FastMutexCore<Core>) {
      return f.core.fast_unlock();
    } else {
      f.core.unlock();
      return 0;
    }
  }
  static void plain_unlock_rest(Frame& f, std::uint32_t rest) noexcept {
    if constexpr (FastMutexCore<Core>) f.core.slow_unlock(rest);
  }

  // One that looks at its owner. The calling thread's id; 0: the mutex is not adopted, or the
  // thread has not asked for its id.
  [[gnu::always_inline]] static std::uint32_t known_id(const Frame& f) noexcept {
    // acquire: pairs with Adoption.
    const std::uint64_t stamp = f.contract.load(acquire) & ~std::uint64_t{kKinds};
    return P::is_process(stamp) ? P::tid_at(stamp) : 0;
  }
  // It is a mutex that looks at its owner, and that is the thread of this id.
  static bool is_owned(const Frame& f, std::uint32_t me) noexcept {
    return is_mine(f, me) && ours_in(f) != 0;
  }
  static int lock_again(Frame& f) noexcept {
    if (ours_in(f) == kErrorcheck) return EDEADLK;
    const std::uint32_t again = f.again.load(relaxed);  // the owner's own
    if (again == kMostAgain) return EAGAIN;
    f.again.store(again + 1, relaxed);
    Count::on(&f, Event::write);
    return 0;
  }
  // The owner's. False: this was its last hold.
  static bool unlock_again(Frame& f) noexcept {
    const std::uint32_t again = f.again.load(relaxed);  // as above
    if (again == 0) return false;
    f.again.store(again - 1, relaxed);
    return true;
  }
  [[gnu::always_inline]] static std::uint64_t lock_begin(Frame& f, std::uint32_t me) noexcept {
    std::uint64_t rest = 0;
    if constexpr (FastMutexCore<Core>) {
      rest = f.core.fast_lock();
    } else {
      f.core.lock();
    }
    if (rest == 0) [[likely]]
      own(f, me);
    return rest;
  }

  // --- all kinds, adopted; 0 or an errno

  static int lock(Frame& f) noexcept {
    const std::uint32_t me = P::tid();
    if (is_owned(f, me)) return lock_again(f);
    f.core.lock();
    own(f, me);
    return 0;
  }
  static int try_lock(Frame& f) noexcept {
    const std::uint32_t me = P::tid();
    if (ours_in(f) == kRecursive && is_mine(f, me)) return lock_again(f);
    if (!f.core.try_lock()) {
      Count::on(&f, Event::failed_try);
      return EBUSY;
    }
    own(f, me);
    return 0;
  }
  // valid(deadline) is asked only if it must wait, as by glibc: EINVAL.
  template <class Valid>
  static int lock_until(Frame& f, const Deadline* deadline, const Valid& valid) noexcept {
    const std::uint32_t me = P::tid();
    if (is_owned(f, me)) return lock_again(f);
    if (!f.core.try_lock()) {
      if (!valid(*deadline)) return EINVAL;
      if (!f.core.lock_until(deadline)) {
        Count::on(&f, Event::timeout);
        return ETIMEDOUT;
      }
    }
    own(f, me);
    return 0;
  }
  static int unlock(Frame& f) noexcept {
    if (ours_in(f) != 0) {
      if (!is_mine(f, P::tid())) return EPERM;
      if (unlock_again(f)) return 0;
    }
    if (const std::uint32_t rest = plain_unlock(f); rest != 0) plain_unlock_rest(f, rest);
    return 0;
  }

  // EBUSY: somebody holds it. Else nobody may use it any more.
  static int destroy(Frame& f) noexcept {
    // relaxed: a holder that matters is there by the program's own doing.
    if (f.owner.load(relaxed) != 0 || !f.core.idle()) return EBUSY;
    if constexpr (EndingCore<Core>) f.core.destroy();
    f.contract.store(0, relaxed);
    f.kind = mutex_kind::kDestroyed;  // as glibc: further calls are its, and get EINVAL
    return 0;
  }

 private:
  // Nothing was done yet; a core with a fast path has the same number for that.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  static_assert(!FastMutexCore<Core> || requires { requires Core::kNotBegun == kNotBegun; });

  // In the contract word. 0: normal or adaptive.
  static constexpr std::uint32_t kRecursive = 1;
  static constexpr std::uint32_t kErrorcheck = 2;
  static constexpr std::uint32_t kKinds = kRecursive | kErrorcheck;
  static constexpr std::uint32_t kMostAgain = ~0u - 1;  // glibc's counter starts at 1

  static std::uint64_t kind_of(const Frame& f) noexcept {
    const std::uint32_t type = f.kind & mutex_kind::kType;
    return type == mutex_kind::kRecursive    ? kRecursive
           : type == mutex_kind::kErrorcheck ? kErrorcheck
                                             : 0;
  }
  static std::uint32_t ours_in(const Frame& f) noexcept {
    return static_cast<std::uint32_t>(f.contract.load(relaxed)) & kKinds;  // does not change
  }
  static void own(Frame& f, std::uint32_t me) noexcept {
    f.owner.store(me, relaxed);  // nobody but the owner looks for a certain id
    Count::on(&f, Event::write);
  }
  static bool is_mine(const Frame& f, std::uint32_t me) noexcept {
    return f.owner.load(relaxed) == me;  // only this thread can have stored its own id
  }

  // --- after a fork. `v` is the contract word.

  static bool is_held(const Frame& f) noexcept { return f.owner.load(relaxed) != 0; }
  static std::uint32_t owner_after_fork(const Frame& f, std::uint64_t v) noexcept {
    return P::survivor(f.owner.load(relaxed), Adoption<P>::stamp_in(v));
  }
  // Whether there is nothing else than a hold that may stay as it is. Does not change anything.
  static bool needs_no_repair(const Frame& f, std::uint64_t v) noexcept {
    const bool held = is_held(f);
    return f.core.needs_no_repair(held) &&
           (!held || owner_after_fork(f, v) == f.owner.load(relaxed));
  }
  [[gnu::noinline]] static void repair_after_fork(Frame& f, std::uint64_t v) noexcept {
    const bool held = is_held(f);
    f.core.repair_after_fork(held);
    if (held) {
      f.owner.store(owner_after_fork(f, v), relaxed);
    } else {
      f.again.store(0, relaxed);
    }
  }
};

}  // namespace lockswap
