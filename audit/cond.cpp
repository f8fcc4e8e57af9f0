// A wait is a cancellation point: nothing of ours may stand on the stack with work that must be
// done. So each wait is counted before it begins, and the last act is a jump to glibc. A thread
// that holds rwlocks is the exception: it notes the end of the wait, if it gets there.
#include "audit/cond.h"

#include <cstdint>
#include <cstring>

#include "audit/entry.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/waits.h"
#include "audit/world.h"
#include "platform/object_layout.h"

namespace lockswap::audit {
namespace {

// glibc's flags in an object of a layout of today: bit 0, process-shared; bit 1, the clock.
constexpr unsigned kShared = 1, kMonotonic = 2;
constexpr unsigned kWaiters = 3;  // bits below the number of threads that wait
// glibc's __kind of a mutex: what keeps it glibc's under lockswap, and "may be elided".
constexpr int kRobust = 0x10, kInherit = 0x20, kProtect = 0x40, kMutexShared = 0x80,
              kElided = 0x100;

template <CondFlags kFlags>
struct New {
  static unsigned flags(const pthread_cond_t* c) noexcept {
    unsigned word;
    std::memcpy(&word, reinterpret_cast<const unsigned char*>(c) + byte_of(kFlags), sizeof word);
    return word;
  }
  static constexpr bool kIsNew = true;
  static const CondOps& system() noexcept { return system_cond; }
};
struct Old {
  static unsigned flags(const pthread_cond_t*) noexcept { return 0; }
  static constexpr bool kIsNew = false;
  static const CondOps& system() noexcept { return system_old_cond; }
};

bool would_be_swapped(const pthread_mutex_t* m) noexcept {
  return (m->__data.__kind & (kRobust | kInherit | kProtect | kMutexShared)) == 0;
}

// glibc knows the owner; that of a process-shared mutex may be another process's thread.
bool is_held_by(const Me& m, const pthread_mutex_t* mutex) noexcept {
  const auto owner = static_cast<std::uint32_t>(mutex->__data.__owner);
  const int kind = mutex->__data.__kind;
  if ((kind & kMutexShared) != 0 || (owner == 0 && (kind & kElided) != 0)) return true;
  return owner == m.tid || (owner != 0 && owner == m.tid_before);
}

std::uint64_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

[[gnu::noinline]] void note_wait(Finding what, const pthread_cond_t* c, std::uint64_t site,
                                 std::uint32_t other_thread) noexcept {
  note(what, {.lock = c, .site = site, .other_thread = other_thread});
}

void count_wait(bool layout_is_new, unsigned flags, const pthread_cond_t* c,
                const pthread_mutex_t* m, std::uint64_t site) noexcept {
  count(Count::cond_waits);
  if ((flags & kShared) != 0) count(Count::cond_waits_process_shared);
  if (me().busy) {  // a signal handler that interrupted the bookkeeping
    count(Count::unrecorded);
    return;
  }
  Me& mine = known_me();
  if (!is_held_by(mine, m))
    note_wait(Finding::cond_wait_unheld, c, site, static_cast<std::uint32_t>(m->__data.__owner));
  takes_again(mine, address_of(m), site);
  if (layout_is_new && (flags & kShared) == 0)
    world().conds.waits(mine, address_of(c), address_of(m), site, flags >> kWaiters);
  if ((flags & kShared) != 0 && would_be_swapped(m))
    note_wait(Finding::cond_shared_mutex_private, c, site, 0);
}

void count_clock(clockid_t clock) noexcept {
  count(Count::cond_timed);
  if (clock == CLOCK_REALTIME) count(Count::cond_clock_realtime);
  if (clock == CLOCK_MONOTONIC) count(Count::cond_clock_monotonic);
}

void count_attributes(const pthread_condattr_t* attributes) noexcept {
  clockid_t clock = CLOCK_REALTIME;
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes == nullptr || pthread_condattr_getclock(attributes, &clock) != 0 ||
      pthread_condattr_getpshared(attributes, &shared) != 0) {
    return;
  }
  if (clock == CLOCK_MONOTONIC) count(Count::cond_monotonic);
  if (shared == PTHREAD_PROCESS_SHARED) count(Count::cond_process_shared);
}

template <class Layout>
struct Ops {
  static constexpr bool kIsNew = Layout::kIsNew;

  static int init(pthread_cond_t* c, const pthread_condattr_t* attributes) noexcept {
    count(Count::cond_init);
    if (kIsNew && !me().busy) world().conds.forget(address_of(c));
    if constexpr (kIsNew) count_attributes(attributes);
    return Layout::system().init(c, attributes);
  }
  static int destroy(pthread_cond_t* c) noexcept {
    count(Count::cond_destroy);
    if (kIsNew && !me().busy) world().conds.forget(address_of(c));
    return Layout::system().destroy(c);
  }
  static int wait(pthread_cond_t* c, pthread_mutex_t* m) noexcept {
    const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
    count_wait(kIsNew, Layout::flags(c), c, m, site);
    if (holds_locks()) [[unlikely]]
      return while_waiting(site, [=] { return Layout::system().wait(c, m); });
    return Layout::system().wait(c, m);
  }
  static int timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at) noexcept {
    const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
    const unsigned flags = Layout::flags(c);
    count_wait(kIsNew, flags, c, m, site);
    count_clock((flags & kMonotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME);
    if (holds_locks()) [[unlikely]]
      return while_waiting(site, [=] { return Layout::system().timedwait(c, m, at); });
    return Layout::system().timedwait(c, m, at);
  }
  static int clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                       const timespec* at) noexcept {
    const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
    count_wait(kIsNew, Layout::flags(c), c, m, site);
    count_clock(clock);
    if (holds_locks()) [[unlikely]]
      return while_waiting(site, [=] { return Layout::system().clockwait(c, m, clock, at); });
    return Layout::system().clockwait(c, m, clock, at);
  }
  static int signal(pthread_cond_t* c) noexcept {
    const Entry entry(c, LOCKSWAP_AUDIT_SITE);
    count(Count::cond_signal);
    if (kIsNew && entry.recorded()) world().conds.wakes(address_of(c), false);
    return Layout::system().signal(c);
  }
  static int broadcast(pthread_cond_t* c) noexcept {
    const Entry entry(c, LOCKSWAP_AUDIT_SITE);
    count(Count::cond_broadcast);
    if (kIsNew && entry.recorded()) world().conds.wakes(address_of(c), true);
    return Layout::system().broadcast(c);
  }

  static constexpr CondOps table{init, destroy, wait, timedwait, clockwait, signal, broadcast};
};

}  // namespace

const CondOps& audited_cond() noexcept {
  return object_layout.cond_flags == CondFlags::at_byte_28 ? Ops<New<CondFlags::at_byte_28>>::table
                                                           : Ops<New<CondFlags::at_byte_36>>::table;
}
constinit const CondOps audited_old_cond = Ops<Old>::table;

}  // namespace lockswap::audit
