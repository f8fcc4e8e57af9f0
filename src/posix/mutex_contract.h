// The part of the POSIX contract that mutex algorithms lack: the owner, the kinds of mutexes that
// depend on it, and fork. It wraps any MutexCore, which is called "the lock below" here.
//
// Idea: a normal or adaptive mutex is the lock below with the owner's id stored next to it.
//   Recursive and errorcheck mutexes compare that id with the caller's first. Only the owner can
//   find its own id there, so the comparison needs no memory order.
// State: `owner`, `again` (the recursion count), and the contract word:
//
//     bits 31..63  the seal of the process that adopted the mutex (adoption.h); 0 in fresh memory
//     bit   2      kMark: always set once it is adopted
//     bits  0..1   kRecursive or kErrorcheck; 0 for a normal or adaptive mutex, which is "plain"
//
//   The word of an adopted plain mutex is its seal and kMark, so one comparison recognises it. A
//   robust or priority-inheriting mutex stays glibc's, and while it is held it has a pointer there:
//   to the list of its owner's mutexes, with a flag in bit 0. No such pointer has kMark, so the
//   comparison never takes such a mutex for ours, although it does not check the kind.
// Stages: fast_lock, slow_lock, fast_unlock, slow_unlock; rw_contract.h has the table of levels.
// Invariants: the owner is set after the lock below is acquired, and cleared before it is released.
// Fork: a hold stays in the child. It belongs to the calling thread if the thread that forked had
//   it, and otherwise it never ends. Nobody waits, since threads that waited do not exist. A thread
//   that had the lock below but was not stored as owner was still acquiring, or had released.
// Fairness, space: those of the lock below, plus 16 bytes in the object.
// Destroy is safe if it is safe in the lock below.
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

// A plain mutex's contract word in this process, cached when the thread looked up its id.
struct MutexSelf {
  std::uint64_t plain;
};

template <Platform P, MutexCore Core, EventCounter Count>
class MutexContract {
 public:
  using Frame = MutexFrame<P, Core>;
  using Slow = MutexContract<P, Core, typename Count::Slow>;  // whose slow stages this one uses
  static constexpr Claims kClaims = Core::kClaims;

  static bool prepare() noexcept { return Core::prepare(); }

  // --- whether the object is ours: called first for objects that are not known to be ours

  // Decides by the kind, and by what was decided when the mutex was initialised. Returns false if
  // it is glibc's. relaxed: the word does not change before the mutex is destroyed.
  static bool is_ours(const Frame& f) noexcept {
    return (f.kind & mutex_kind::kGlibcs) == 0 && f.contract.load(relaxed) != kSystemsWord;
  }

  // Returns false if the object is glibc's, perhaps because it has just been initialised as one.
  static bool adopt(Frame& f) noexcept { return Adopted::adopt(f.contract, AdoptedMutex{f}); }
  static bool is_adopted(const Frame& f) noexcept { return Adopted::is_done(f.contract); }

  // Called by pthread_mutex_init before the bytes are zeroed. They may be anything, including a
  // mutex that was never destroyed.
  static void before_init(Frame& f) noexcept {
    if constexpr (BlockCore<Core>) f.core.before_init();
  }
  // Called by pthread_mutex_init on an object that is zero except for its kind, and that nobody
  // else may use yet.
  static void begin(Frame& f) noexcept {
    const std::uint64_t ours = P::seal() | kMark | our_kind(f);
    // relaxed: publishing the object is the program's job.
    f.contract.store(P::begins_systems() ? kSystemsWord : ours, relaxed);
  }

  // --- the stages. A fast one returns 0, or what the slow one needs to continue.

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
      f.core.lock();  // without a fast stage, only kNotBegun gets here
    }
    own(f, my_id());
  }
  // Any thread may release a plain mutex. Other kinds: only the owner, and only its last hold.
  [[gnu::always_inline]] static std::uint32_t fast_unlock(Frame& f) noexcept {
    f.owner.store(0, relaxed);  // relaxed: only the owner looks for its own id
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

  // --- mutexes that check their owner

  // Returns the calling thread's id, or 0 if the mutex is not adopted, or if the thread has not
  // looked up its id yet.
  [[gnu::always_inline]] static std::uint32_t known_id(const Frame& f) noexcept {
    // acquire: pairs with the release in Adoption::adopt.
    const std::uint64_t plain = f.contract.load(acquire) & ~std::uint64_t{kKinds};
    return P::is_seal(plain - kMark) && has_id_at(plain) ? P::tid_if_known() : 0;
  }
  // Returns whether this is an owner-checking mutex held by the thread with this id.
  static bool is_owned(const Frame& f, std::uint32_t me) noexcept {
    return is_mine(f, me) && kind_in(f) != 0;
  }
  static int lock_again(Frame& f) noexcept {
    if (kind_in(f) == kErrorcheck) return EDEADLK;
    const std::uint32_t again = f.again.load(relaxed);  // relaxed: only the owner uses it
    if (again == kMostAgain) return EAGAIN;
    f.again.store(again + 1, relaxed);
    Count::on(&f, Event::mutex_lock);
    return 0;
  }
  // Called by the owner. Returns false if this was its last hold.
  static bool unlock_again(Frame& f) noexcept {
    const std::uint32_t again = f.again.load(relaxed);  // relaxed: only the owner uses it
    if (again == 0) return false;
    f.again.store(again - 1, relaxed);
    return true;
  }

  // --- for all kinds, if adopted; return 0 or an errno

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
  // valid(deadline) is called only if the thread must wait, as in glibc; EINVAL if it returns
  // false.
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

  // Called by a thread that holds the mutex and begins, or has ended, a wait on a condition
  // variable.
  static void add_waiter(Frame& f) noexcept {
    f.waiters.fetch_add(1, relaxed);  // relaxed: the program orders it before a destroy
  }
  static void remove_waiter(Frame& f) noexcept { f.waiters.fetch_sub(1, relaxed); }  // the same

  // Returns EBUSY if a thread holds the mutex, or waits on a condition variable with it. Otherwise
  // nobody may use it afterwards.
  static int destroy(Frame& f) noexcept {
    if (!is_adopted(f)) {
      // Memory that never was a mutex of ours: in glibc's mutexes `again` is __nusers.
      if (Adopted::is_unknown(f.contract) && (f.contract.load(relaxed) == 0 || !P::is_shared(&f)))
        return end(f, f.again.load(relaxed) != 0);
      adopt(f);
    }
    // relaxed: the program itself orders a hold that matters before this call.
    if ((f.owner.load(relaxed) | f.waiters.load(relaxed)) != 0 || !f.core.idle()) return EBUSY;
    if constexpr (EndingCore<Core>) f.core.destroy();
    return end(f, false);
  }

 private:
  // Nothing has been done yet. A core with a fast stage uses the same value.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  static_assert(!FastMutexCore<Core> || requires { requires Core::kNotBegun == kNotBegun; });

  // Bits of the contract word. 0: normal or adaptive.
  static constexpr std::uint32_t kRecursive = 1;
  static constexpr std::uint32_t kErrorcheck = 2;
  static constexpr std::uint32_t kKinds = kRecursive | kErrorcheck;
  static constexpr std::uint64_t kMark = 4;
  static_assert(((kKinds | kMark) & P::kStampMask) == 0);
  static constexpr std::uint32_t kMostAgain = ~0u - 1;  // glibc's counter starts at 1

  using Adopted = Adoption<P, WordHas::seal, kKinds, kMark>;

  // Returns whether `plain` is the word of plain mutexes here, and the thread has looked up its id
  // in this process.
  [[gnu::always_inline]] static bool has_id_at(std::uint64_t plain) noexcept {
    return P::template local<MutexSelf>().plain == plain;
  }
  static std::uint32_t my_id() noexcept {
    MutexSelf& self = P::template local<MutexSelf>();
    const std::uint64_t plain = P::seal() | kMark;
    const std::uint32_t id = P::tid();
    signal_fence();  // a handler that finds the word also finds the id
    self.plain = plain;
    return id;
  }

  static int end(Frame& f, bool is_busy) noexcept {
    if (is_busy) return EBUSY;
    f.contract.store(0, relaxed);
    f.kind = mutex_kind::kDestroyed;  // as glibc does: later calls are passed to it and get EINVAL
    return 0;
  }

  // Translates glibc's kind into the contract word's encoding.
  static std::uint64_t our_kind(const Frame& f) noexcept {
    const std::uint32_t type = f.kind & mutex_kind::kType;
    return type == mutex_kind::kRecursive    ? kRecursive
           : type == mutex_kind::kErrorcheck ? kErrorcheck
                                             : 0;
  }
  // Returns the kind in the contract word.
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
    f.owner.store(me, relaxed);  // relaxed: only the owner looks for its own id
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
    // Returns whether nothing is left but a hold that can stay as it is.
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
