// The functions of mutexes and reader-writer locks, with a profile of them. What they stand before
// is whatever was chosen: glibc's own, ours, each by a policy, counted or not.
#include "profile/locks.h"

#include <type_traits>

#include "platform/looks.h"
#include "profile/acquire.h"

namespace lockswap::profile {
namespace {

constinit MutexOps mutex{};
constinit RwOps rwlock{};

int init_mutex(pthread_mutex_t* m, const pthread_mutexattr_t* a) noexcept {
  return begin_lock<Kind::mutex>(m, LOCKSWAP_PROFILE_CALLER, [=] { return mutex.init(m, a); });
}
int destroy_mutex(pthread_mutex_t* m) noexcept {
  return end_lock(m, [=] { return mutex.destroy(m); });
}
int try_mutex(pthread_mutex_t* m) noexcept {
  return try_lock<Kind::mutex>(m, Mode::exclusive, [=] { return mutex.trylock(m); });
}
int unlock_mutex(pthread_mutex_t* m) noexcept {
  return release_lock<Kind::mutex>(m, LOCKSWAP_PROFILE_CALLER, [=] { return mutex.unlock(m); });
}

// What a call gets besides the lock is its deadline.
template <auto kMember>
struct LockMutex;
template <class... Args, int (*MutexOps::*kMember)(pthread_mutex_t*, Args...)>
struct LockMutex<kMember> {
  static int call(pthread_mutex_t* m, Args... args) noexcept {
    return acquire_lock<Kind::mutex, sizeof...(Args) != 0>(
        m, Mode::exclusive, [=] { return Looks::at_known(m); },
        [=] { return (mutex.*kMember)(m, args...); });
  }
};

int init_rwlock(pthread_rwlock_t* l, const pthread_rwlockattr_t* a) noexcept {
  return begin_lock<Kind::rwlock>(l, LOCKSWAP_PROFILE_CALLER, [=] { return rwlock.init(l, a); });
}
int destroy_rwlock(pthread_rwlock_t* l) noexcept {
  return end_lock(l, [=] { return rwlock.destroy(l); });
}
int unlock_rwlock(pthread_rwlock_t* l) noexcept {
  return release_lock<Kind::rwlock>(l, LOCKSWAP_PROFILE_CALLER, [=] { return rwlock.unlock(l); });
}

template <Mode kMode>
int try_rwlock(pthread_rwlock_t* l) noexcept {
  return try_lock<Kind::rwlock>(
      l, kMode, [=] { return kMode == Mode::shared ? rwlock.tryrdlock(l) : rwlock.trywrlock(l); });
}
template <auto kMember, Mode kMode>
struct LockRwlock;
template <class... Args, int (*RwOps::*kMember)(pthread_rwlock_t*, Args...), Mode kMode>
struct LockRwlock<kMember, kMode> {
  static int call(pthread_rwlock_t* l, Args... args) noexcept {
    return acquire_lock<Kind::rwlock, sizeof...(Args) != 0>(
        l, kMode, [=] { return Looks::at_known<kMode == Mode::shared>(l); },
        [=] { return (rwlock.*kMember)(l, args...); });
  }
};

}  // namespace

MutexOps over_mutex(const MutexOps& behind) noexcept {
  mutex = behind;
  return {
      init_mutex,
      destroy_mutex,
      LockMutex<&MutexOps::lock>::call,
      try_mutex,
      LockMutex<&MutexOps::timedlock>::call,
      LockMutex<&MutexOps::clocklock>::call,
      unlock_mutex,
  };
}

RwOps over_rwlock(const RwOps& behind) noexcept {
  rwlock = behind;
  return {
      init_rwlock,
      destroy_rwlock,
      LockRwlock<&RwOps::rdlock, Mode::shared>::call,
      try_rwlock<Mode::shared>,
      LockRwlock<&RwOps::timedrdlock, Mode::shared>::call,
      LockRwlock<&RwOps::clockrdlock, Mode::shared>::call,
      LockRwlock<&RwOps::wrlock, Mode::exclusive>::call,
      try_rwlock<Mode::exclusive>,
      LockRwlock<&RwOps::timedwrlock, Mode::exclusive>::call,
      LockRwlock<&RwOps::clockwrlock, Mode::exclusive>::call,
      unlock_rwlock,
  };
}

}  // namespace lockswap::profile
