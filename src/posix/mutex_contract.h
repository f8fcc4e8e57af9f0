// The part of the POSIX contract that mutex algorithms lack: the owner, the kinds of mutexes that
// depend on it, and fork. It goes over any MutexCore.
//
// Idea: normal and adaptive mutexes are the lock below, with the owner's id stored beside it.
//   Recursive and errorcheck ones compare that id with their own first: only the owner can find
//   its own id there, so the comparison needs no order.
// State: the frame's owner, again, and the contract word:
//
//     bits 31..63  the seal of the process that adopted the mutex (adoption.h); 0: fresh memory
//     bit   2      kMark: always, once it is adopted
//     bits  0..1   kRecursive or kErrorcheck; 0: a normal or adaptive mutex, which is "plain"
//
//   The word of an adopted plain mutex is its seal and kMark, which is one comparison. In a robust
//   or priority-inheriting mutex, which is glibc's, a pointer lies there while it is held: to the
//   list of its owner's mutexes, with bit 0 as a flag. No such pointer has kMark, so that one
//   comparison, which does not look at the kind, never takes such a mutex for ours.
// Stages: fast_lock, slow_lock, fast_unlock, slow_unlock; rw_contract.h has the table of levels.
// Invariants: the owner is set after the lock below is acquired, and cleared before it is released.
// Fork: in a child the hold stays: it is the calling thread's if the thread that forked had it,
//   else it never ends. Nobody waits: the threads that waited do not exist. A thread that had the
//   lock below but not its id as owner was still acquiring, or had released.
// Fairness, space: those of the lock below, and 16 bytes in the frame.
// Destroy is safe as it is in the lock below.
#pragma once

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <new>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/mutex_layout.h"
#include "locks/concept.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/adoption.h"
#include "posix/count_waits.h"
#include "posix/polling.h"

namespace lockswap {

// The contract word that a plain mutex has in the process in which the thread asked for its id.
struct MutexSelf {
  std::uint64_t plain;
};

template <Platform P, MutexCore Core, EventCounter Count>
class MutexContract {
 public:
  using Frame = MutexFrame<P, Core>;
  using Slow = MutexContract<P, Core, typename Count::Slow>;  // whose slow stages this one has
  static constexpr Claims kClaims = Core::kClaims;

  static bool prepare() noexcept { return Core::prepare(); }

  // --- whether the object is ours: for each call on an object that is not known to be ours

  // Goes by the kind, and by what was decided when the object began. Returns false if the object is
  // glibc's. relaxed: the word does not change before the object ends.
  static bool is_ours(const Frame& f) noexcept {
    return (f.kind & mutex_kind::kGlibcs) == 0 && f.contract.load(relaxed) != kSystemsWord;
  }

  // Returns false if the object is glibc's: it begins now, or has just begun.
  static bool adopt(Frame& f) noexcept { return Adopted::adopt(f.contract, AdoptedMutex{f}); }
  static bool is_adopted(const Frame& f) noexcept { return Adopted::is_done(f.contract); }

  // Called by pthread_mutex_init, before the bytes are zeroed: they may be those of a mutex that
  // was here and was not destroyed, or anything.
  static void before_init(Frame& f) noexcept {
    if constexpr (BlockCore<Core>) f.core.before_init();
  }
  // Called by pthread_mutex_init, on an object that is zero but for its kind: nobody else may use
  // it.
  static void begin(Frame& f) noexcept {
    const std::uint64_t ours = P::seal() | kMark | our_kind(f);
    // relaxed: the program hands the object on.
    f.contract.store(P::begins_systems() ? kSystemsWord : ours, relaxed);
  }

  // --- the stages. A fast one returns 0, or what the slow one goes on with.

  // Returns whether it is a normal or adaptive mutex that this process has adopted.
  static bool is_plain(const Frame& f) noexcept {
    return Adoption<P, WordHas::seal, 0, kMark>::is_done(f.contract);
  }
  // Only for a plain mutex.
  [[gnu::always_inline]] static std::uint64_t fast_lock(Frame& f) noexcept {
    // relaxed: the word does not change.
    if (!has_id_at(f.contract.load(relaxed))) return kNotBegun;
    const std::uint64_t rest = fast_core_lock(f);
    if (rest == 0) [[likely]]
      own(f, P::tid_if_known());
    return rest;
  }
  // Only for a mutex that the calling thread, whose id is `me`, does not own.
  [[gnu::always_inline]] static std::uint64_t fast_lock(Frame& f, std::uint32_t me) noexcept {
    const std::uint64_t rest = fast_core_lock(f);
    if (rest == 0) [[likely]]
      own(f, me);
    return rest;
  }
  static void slow_lock(Frame& f, std::uint64_t rest) noexcept {
    if constexpr (FastMutexCore<Core>) {
      rest == kNotBegun ? f.core.lock() : f.core.slow_lock(rest);
    } else {
      f.core.lock();  // without a fast stage, only kNotBegun leads here
    }
    own(f, my_id());
  }
  // Any thread may release a plain mutex, but only the owner the last hold of another one.
  [[gnu::always_inline]] static std::uint32_t fast_unlock(Frame& f) noexcept {
    f.owner.store(0, relaxed);  // nobody but the owner looks for a certain id
    P::check([&f] { return !f.core.idle(); });
    if constexpr (FastMutexCore<Core>) {
      return f.core.fast_unlock();
    } else {
      f.core.unlock();
      return 0;
    }
  }
  static void slow_unlock(Frame& f, std::uint32_t rest) noexcept {
    if constexpr (FastMutexCore<Core>) f.core.slow_unlock(rest);
  }

  // --- mutexes that look at their owner

  // The calling thread's id; 0: the mutex is not adopted, or the thread has not asked for its id.
  [[gnu::always_inline]] static std::uint32_t known_id(const Frame& f) noexcept {
    // acquire: pairs with the release in Adoption::adopt.
    const std::uint64_t plain = f.contract.load(acquire) & ~std::uint64_t{kKinds};
    return P::is_seal(plain - kMark) && has_id_at(plain) ? P::tid_if_known() : 0;
  }
  // It is a mutex that looks at its owner, and that is the thread of this id.
  static bool is_owned(const Frame& f, std::uint32_t me) noexcept {
    return is_mine(f, me) && kind_in(f) != 0;
  }
  static int lock_again(Frame& f) noexcept {
    if (kind_in(f) == kErrorcheck) return EDEADLK;
    const std::uint32_t again = f.again.load(relaxed);  // relaxed: the owner's own
    if (again == kMostAgain) return EAGAIN;
    f.again.store(again + 1, relaxed);
    Count::on(&f, Event::mutex_lock);
    return 0;
  }
  // For the owner. Returns false if this was its last hold.
  static bool unlock_again(Frame& f) noexcept {
    const std::uint32_t again = f.again.load(relaxed);  // relaxed: the owner's own
    if (again == 0) return false;
    f.again.store(again - 1, relaxed);
    return true;
  }

  // --- all kinds, adopted; 0 or an errno

  static int lock(Frame& f) noexcept {
    const std::uint32_t me = my_id();
    if (is_owned(f, me)) return lock_again(f);
    f.core.lock();
    own(f, me);
    return 0;
  }
  static int try_lock(Frame& f) noexcept {
    const std::uint32_t me = my_id();
    if (kind_in(f) == kRecursive && is_mine(f, me)) return lock_again(f);
    if (!f.core.try_lock()) {
      Count::on(&f, Event::mutex_failed_try);
      return EBUSY;
    }
    own(f, me);
    return 0;
  }
  // valid(deadline) is asked only if it must wait, as by glibc: EINVAL.
  template <class Valid>
  static int lock_until(Frame& f, const Deadline* deadline, const Valid& valid) noexcept {
    const std::uint32_t me = my_id();
    if (is_owned(f, me)) return lock_again(f);
    if (!f.core.try_lock()) {
      if (!valid(*deadline)) return EINVAL;
      const bool is_held = is_adopted(f)
                               ? f.core.lock_until(deadline)
                               : poll_until<P>(*deadline, [&f] { return f.core.try_lock(); });
      if (!is_held) {
        Count::on(&f, Event::mutex_timeout);
        count_waits<P, Count, Event::mutex_hand_off, Event::mutex_nap>(&f);
        return ETIMEDOUT;
      }
    }
    own(f, me);
    return 0;
  }
  static int unlock(Frame& f) noexcept {
    if (kind_in(f) != 0) {
      if (!is_mine(f, my_id())) return EPERM;
      if (unlock_again(f)) return 0;
    }
    if (const std::uint32_t rest = fast_unlock(f); rest != 0) slow_unlock(f, rest);
    return 0;
  }

  // A thread that holds the mutex waits on a condition variable from now on, or no longer.
  static void add_waiter(Frame& f) noexcept {
    f.waiters.fetch_add(1, relaxed);  // relaxed: a destroyer that matters comes by the program
  }
  static void remove_waiter(Frame& f) noexcept { f.waiters.fetch_sub(1, relaxed); }  // the same

  // EBUSY: somebody holds it, or waits on a condition variable with it. Else nobody may use it any
  // more.
  static int destroy(Frame& f) noexcept {
    if (!is_adopted(f)) {
      // For memory that never was a mutex: glibc counts users there.
      if (Adopted::is_unknown(f.contract) && (f.contract.load(relaxed) == 0 || !P::is_shared(&f)))
        return end(f, f.again.load(relaxed) != 0);
      adopt(f);
    }
    // relaxed: a holder that matters is there by the program's own doing.
    if ((f.owner.load(relaxed) | f.waiters.load(relaxed)) != 0 || !f.core.idle()) return EBUSY;
    if constexpr (EndingCore<Core>) f.core.destroy();
    return end(f, false);
  }

 private:
  // Nothing was done yet; a core with a fast stage has the same number for that.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  static_assert(!FastMutexCore<Core> || requires { requires Core::kNotBegun == kNotBegun; });

  // In the contract word. 0: normal or adaptive.
  static constexpr std::uint32_t kRecursive = 1;
  static constexpr std::uint32_t kErrorcheck = 2;
  static constexpr std::uint32_t kKinds = kRecursive | kErrorcheck;
  static constexpr std::uint64_t kMark = 4;
  static_assert(((kKinds | kMark) & P::kStampMask) == 0);
  static constexpr std::uint32_t kMostAgain = ~0u - 1;  // glibc's counter starts at 1

  using Adopted = Adoption<P, WordHas::seal, kKinds, kMark>;

  // That is the word, and the thread has asked for its id in this process.
  [[gnu::always_inline]] static bool has_id_at(std::uint64_t plain) noexcept {
    return P::template local<MutexSelf>().plain == plain;
  }
  static std::uint32_t my_id() noexcept {
    MutexSelf& self = P::template local<MutexSelf>();
    const std::uint64_t plain = P::seal() | kMark;
    const std::uint32_t id = P::tid();
    signal_fence();  // a handler that finds the word finds the id
    self.plain = plain;
    return id;
  }

  static int end(Frame& f, bool is_busy) noexcept {
    if (is_busy) return EBUSY;
    f.contract.store(0, relaxed);
    f.kind = mutex_kind::kDestroyed;  // as glibc: further calls are its, and get EINVAL
    return 0;
  }

  // The kind in glibc's field, as the contract word has it.
  static std::uint64_t our_kind(const Frame& f) noexcept {
    const std::uint32_t type = f.kind & mutex_kind::kType;
    return type == mutex_kind::kRecursive    ? kRecursive
           : type == mutex_kind::kErrorcheck ? kErrorcheck
                                             : 0;
  }
  // The kind in the contract word.
  static std::uint32_t kind_in(const Frame& f) noexcept {
    return static_cast<std::uint32_t>(f.contract.load(relaxed)) & kKinds;  // does not change
  }
  [[gnu::always_inline]] static std::uint64_t fast_core_lock(Frame& f) noexcept {
    if constexpr (FastMutexCore<Core>) {
      return f.core.fast_lock();
    } else {
      f.core.lock();
      return 0;
    }
  }
  static void own(Frame& f, std::uint32_t me) noexcept {
    P::check([&f] { return f.owner.load(relaxed) == 0 && !f.core.idle(); });
    f.owner.store(me, relaxed);  // nobody but the owner looks for a certain id
    Count::on(&f, Event::mutex_lock);
    count_waits<P, Count, Event::mutex_hand_off, Event::mutex_nap>(&f);
  }
  static bool is_mine(const Frame& f, std::uint32_t me) noexcept {
    return f.owner.load(relaxed) == me;  // only this thread can have stored its own id
  }

  // For Adoption; `v` is the contract word.
  struct AdoptedMutex {
    static constexpr bool kMayBeSystems = true;
    Frame& f;

    static bool is_new(std::uint64_t v) noexcept { return v == 0; }
    std::uint64_t first_bits() const noexcept { return our_kind(f); }
    // There is nothing but a hold that may stay as it is.
    bool needs_no_repair(std::uint64_t v) const noexcept {
      const bool held = is_held();
      return f.core.needs_no_repair(held) && f.waiters.load(relaxed) == 0 &&
             (!held || owner_after_fork(v) == f.owner.load(relaxed));
    }
    [[gnu::noinline]] std::uint64_t repair_after_fork(std::uint64_t v) const noexcept {
      const bool held = is_held();
      f.core.repair_after_fork(held);
      f.waiters.store(0, relaxed);
      if (held) {
        f.owner.store(owner_after_fork(v), relaxed);
      } else {
        f.again.store(0, relaxed);
      }
      return v;
    }
    std::uint64_t begin_anew() const noexcept {
      new (&f.core) Core();
      for (auto* number : {&f.owner, &f.again, &f.waiters})
        number->store(0, relaxed);
      return our_kind(f);
    }
    void forget_strange() const noexcept {
      if constexpr (BlockCore<Core>) f.core.forget_strange();
    }

    bool is_at_rest() const noexcept { return is_held() || f.core.idle(); }

   private:
    bool is_held() const noexcept { return f.owner.load(relaxed) != 0; }
    std::uint32_t owner_after_fork(std::uint64_t v) const noexcept {
      return P::survivor(f.owner.load(relaxed), v & P::kStampMask);
    }
  };
};

}  // namespace lockswap
