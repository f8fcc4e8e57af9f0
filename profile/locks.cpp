// The functions of mutexes and reader-writer locks, with a profile of them. The functions behind
// them are whatever was chosen: glibc's own or ours, by a policy or not, counted or not.
#include "profile/locks.h"

#include "platform/looks.h"
#include "profile/acquire.h"

namespace lockswap::profile {
namespace {

constinit MutexOps mutex{};
constinit RwOps rwlock{};

Look look_at(const pthread_mutex_t* m, Mode) noexcept { return Looks::at_known(m); }
Look look_at(const pthread_rwlock_t* l, Mode mode) noexcept {
  return mode == Mode::shared ? Looks::at_known<true>(l) : Looks::at_known<false>(l);
}

template <Kind kKind>
struct Profiled {
  static int on(InitCall auto call, auto* lock, auto* attributes) noexcept {
    return begin_lock<kKind>(lock, call.caller, [=] { return call.next(lock, attributes); });
  }
  static int on(DestroyCall auto call, auto* lock) noexcept {
    return end_lock(lock, [=] { return call.next(lock); });
  }
  template <LockCall C>
  [[gnu::always_inline]] static int on(C, auto* lock, auto... args) noexcept {
    constexpr Mode kMode = C::kReads ? Mode::shared : Mode::exclusive;
    const auto next = [=] { return C::next(lock, args...); };
    if constexpr (C::kForm == Form::attempt) {
      return try_lock<kKind>(lock, kMode, next);
    } else {
      return acquire_lock<kKind, C::kHasDeadline>(
          lock, kMode, [=] { return look_at(lock, kMode); }, next);
    }
  }
  template <UnlockCall C>
  [[gnu::always_inline]] static int on(C, auto* lock) noexcept {
    return release_lock<kKind>(lock, LOCKSWAP_PROFILE_CALLER, [=] { return C::next(lock); });
  }
};

}  // namespace

MutexOps over_mutex(const MutexOps& behind) noexcept {
  mutex = behind;
  return around<Profiled<Kind::mutex>, mutex>;
}

RwOps over_rwlock(const RwOps& behind) noexcept {
  rwlock = behind;
  return around<Profiled<Kind::rwlock>, rwlock>;
}

}  // namespace lockswap::profile
