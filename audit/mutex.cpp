// Mutexes and condition variables, counted: what they are, and how they are used. They stay
// glibc's.

#include <cerrno>
#include <cstdint>

#include "audit/entry.h"
#include "audit/real.h"
#include "audit/report.h"
#include "audit/start.h"
#include "audit/world.h"
#include "interpose/symbol_versions.h"

namespace lockswap::audit {
namespace {

// glibc's __kind: the type, and what the attributes added.
constexpr int kType = 3, kRobust = 0x10, kInherit = 0x20, kProtect = 0x40, kShared = 0x80;

int kind_bits(const pthread_mutex_t* m) noexcept { return m->__data.__kind; }

void count_kind(const pthread_mutex_t* m) noexcept {
  constexpr Count kTypes[] = {Count::mutex_normal, Count::mutex_recursive, Count::mutex_errorcheck,
                              Count::mutex_adaptive};
  const int kind = kind_bits(m);
  count(kTypes[kind & kType]);
  if ((kind & kRobust) != 0) count(Count::mutex_robust);
  if ((kind & kInherit) != 0) count(Count::mutex_inherit);
  if ((kind & kProtect) != 0) count(Count::mutex_protect);
  if ((kind & kShared) != 0) count(Count::mutex_process_shared);
}

bool is_inner_lock(const pthread_mutex_t* m) noexcept {
  return (kind_bits(m) & kType) == PTHREAD_MUTEX_RECURSIVE && m->__data.__count > 1;
}

void count_result(const pthread_mutex_t* m, const Me& me, int error) noexcept {
  switch (error) {
    case EOWNERDEAD:
      count(Count::mutex_owner_dead);
      [[fallthrough]];
    case 0:
      count(Count::mutex_acquired);
      if (me.record != nullptr && !is_inner_lock(m))
        raise_to(record().most_mutexes_held, me.record->mutexes.fetch_add(1, relaxed) + 1);
      break;
    case EBUSY:
      count(Count::mutex_busy);
      break;
    case ETIMEDOUT:
      count(Count::mutex_timeouts);
      break;
    case EDEADLK:
      count(Count::mutex_deadlk);
      break;
    default:
      break;
  }
}

void count_clock(clockid_t clock) noexcept {
  if (clock == CLOCK_REALTIME) count(Count::mutex_clock_realtime);
  if (clock == CLOCK_MONOTONIC) count(Count::mutex_clock_monotonic);
}
void count_clock() noexcept {}
void count_clock(const timespec*) noexcept { count_clock(CLOCK_REALTIME); }
void count_clock(clockid_t clock, const timespec*) noexcept { count_clock(clock); }

template <auto kMember, Count kCall>
struct Acquire;

template <class... Args, int (*OtherOps::*kMember)(pthread_mutex_t*, Args...), Count kCall>
struct Acquire<kMember, kCall> {
  static int call(pthread_mutex_t* m, Args... args) noexcept {
    const Entry entry(m, LOCKSWAP_AUDIT_SITE);
    count(kCall);
    count_clock(args...);
    const int error = (system_other.*kMember)(m, args...);
    if (error == 0 || error == EOWNERDEAD) count_kind(m);
    count_result(m, entry.me(), error);
    return error;
  }
};

int init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) noexcept {
  count(Count::mutex_init);
  return system_other.mutex_init(m, attributes);
}

int destroy(pthread_mutex_t* m) noexcept {
  count(Count::mutex_destroy);
  return system_other.mutex_destroy(m);
}

// glibc knows the owner, so no book is needed. 0: nobody, or an elided lock.
bool is_foreign(const pthread_mutex_t* m, const Me& me, std::uint32_t owner) noexcept {
  return owner != 0 && owner != me.tid && owner != me.tid_before && (kind_bits(m) & kShared) == 0;
}

int unlock(pthread_mutex_t* m) noexcept {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  const Entry entry(m, site);
  count(Count::mutex_unlock);
  const auto owner = static_cast<std::uint32_t>(m->__data.__owner);
  const bool foreign = is_foreign(m, entry.me(), owner), inner = is_inner_lock(m);
  const int error = system_other.mutex_unlock(m);
  if (error != 0 || inner || !entry.recorded()) return error;
  if (foreign) {
    note(Finding::foreign_mutex_release, {.lock = m, .site = site, .other_thread = owner});
    world().threads.took_mutex_from(owner);
  } else if (ThreadRecord* r = entry.me().record; r != nullptr) {
    lower(r->mutexes);
  }
  return error;
}

void count_attributes(const pthread_condattr_t* attributes) {
  clockid_t clock = CLOCK_REALTIME;
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes == nullptr || pthread_condattr_getclock(attributes, &clock) != 0 ||
      pthread_condattr_getpshared(attributes, &shared) != 0) {
    return;
  }
  if (clock == CLOCK_MONOTONIC) count(Count::cond_monotonic);
  if (shared == PTHREAD_PROCESS_SHARED) count(Count::cond_process_shared);
}

}  // namespace

constinit const MutexOps audited_mutex{
    init,
    destroy,
    Acquire<&OtherOps::mutex_lock, Count::mutex_lock>::call,
    Acquire<&OtherOps::mutex_trylock, Count::mutex_trylock>::call,
    Acquire<&OtherOps::mutex_timedlock, Count::mutex_timedlock>::call,
    Acquire<&OtherOps::mutex_clocklock, Count::mutex_clocklock>::call,
    unlock,
};

}  // namespace lockswap::audit

using namespace lockswap::audit;

extern "C" {

#define LOCKSWAP_EXPORTED __attribute__((visibility("default")))

LOCKSWAP_EXPORTED int lockswap_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* a) {
  return active_mutex.init(m, a);
}
LOCKSWAP_EXPORTED int lockswap_mutex_destroy(pthread_mutex_t* m) { return active_mutex.destroy(m); }
LOCKSWAP_EXPORTED int lockswap_mutex_lock(pthread_mutex_t* m) { return active_mutex.lock(m); }
LOCKSWAP_EXPORTED int lockswap_mutex_trylock(pthread_mutex_t* m) { return active_mutex.trylock(m); }
LOCKSWAP_EXPORTED int lockswap_mutex_timedlock(pthread_mutex_t* m, const timespec* at) {
  return active_mutex.timedlock(m, at);
}
LOCKSWAP_EXPORTED int lockswap_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                                               const timespec* at) {
  return active_mutex.clocklock(m, clock, at);
}
LOCKSWAP_EXPORTED int lockswap_mutex_unlock(pthread_mutex_t* m) { return active_mutex.unlock(m); }

LOCKSWAP_EXPORTED int lockswap_cond_init(pthread_cond_t* c, const pthread_condattr_t* a) {
  if (!ensure_started()) return EAGAIN;
  count(Count::cond_init);
  count_attributes(a);
  return system_other.cond_init(c, a);
}
// A cancellation point: nothing of ours may stand on the stack with work to do.
LOCKSWAP_EXPORTED int lockswap_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m,
                                              clockid_t clock, const timespec* at) {
  if (!ensure_started()) return EAGAIN;
  if (clock == CLOCK_REALTIME) count(Count::cond_clockwait_realtime);
  if (clock == CLOCK_MONOTONIC) count(Count::cond_clockwait_monotonic);
  return system_other.cond_clockwait(c, m, clock, at);
}

}  // extern "C"

LOCKSWAP_OLDEST_IS_DEFAULT(lockswap_mutex_init, pthread_mutex_init)
LOCKSWAP_OLDEST_IS_DEFAULT(lockswap_mutex_destroy, pthread_mutex_destroy)
LOCKSWAP_OLDEST_IS_DEFAULT(lockswap_mutex_lock, pthread_mutex_lock)
LOCKSWAP_OLDEST_IS_DEFAULT(lockswap_mutex_unlock, pthread_mutex_unlock)
LOCKSWAP_VERSIONED(lockswap_mutex_trylock, pthread_mutex_trylock)
LOCKSWAP_VERSIONED(lockswap_mutex_timedlock, pthread_mutex_timedlock)
LOCKSWAP_VERSIONED_SINCE_2_30(lockswap_mutex_clocklock, pthread_mutex_clocklock)
LOCKSWAP_OLD_ONLY(lockswap_mutex_init, __pthread_mutex_init)
LOCKSWAP_OLD_ONLY(lockswap_mutex_destroy, __pthread_mutex_destroy)
LOCKSWAP_OLD_ONLY(lockswap_mutex_lock, __pthread_mutex_lock)
LOCKSWAP_OLD_ONLY(lockswap_mutex_trylock, __pthread_mutex_trylock)
LOCKSWAP_OLD_ONLY(lockswap_mutex_unlock, __pthread_mutex_unlock)
LOCKSWAP_COND(lockswap_cond_init, pthread_cond_init)
LOCKSWAP_VERSIONED_SINCE_2_30(lockswap_cond_clockwait, pthread_cond_clockwait)
