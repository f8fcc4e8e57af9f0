// A wait is a cancellation point, so no frame here may have work left that must be done. So each
// wait is counted before it begins. A thread that is cancelled in its wait skips what comes after
// it: it does not note when it gets its mutex again nor, if it holds rwlocks, that it no longer
// waits.
#include "audit/cond.h"

#include <cstdint>
#include <cstring>

#include "audit/bytes.h"
#include "audit/entry.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/shared.h"
#include "audit/waits.h"
#include "audit/world.h"
#include "platform/object_layout.h"

namespace lockswap::audit {
namespace {

constexpr unsigned kWaiters = 3;  // from this bit on, the flags have the number of waiting threads
constexpr int kElided = 0x100;    // of a mutex's __kind: it may be elided

template <CondFlags kFlags>
struct New {
  static unsigned flags(const pthread_cond_t* c) noexcept { return flags_in(c, kFlags); }
  static constexpr bool kIsNew = true;
};
struct Old {
  static unsigned flags(const pthread_cond_t*) noexcept { return 0; }
  static constexpr bool kIsNew = false;
};

bool would_be_swapped(const pthread_mutex_t* m) noexcept {
  return (m->__data.__kind & (kRobust | kInherit | kProtect | kShared)) == 0;
}

// glibc knows the owner. The owner of a process-shared mutex may be in another process.
bool is_held_by(const Me& m, const pthread_mutex_t* mutex) noexcept {
  const auto owner = static_cast<std::uint32_t>(mutex->__data.__owner);
  const int kind = mutex->__data.__kind;
  if ((kind & kShared) != 0 || (owner == 0 && (kind & kElided) != 0)) return true;
  return owner == m.tid || (owner != 0 && owner == m.tid_before);
}

[[gnu::noinline]] void note_wait(Finding what, const pthread_cond_t* c, std::uint64_t site,
                                 std::uint32_t other_thread) noexcept {
  note(what, {.lock = c, .site = site, .other_thread = other_thread});
}

void count_wait(bool layout_is_new, unsigned flags, const pthread_cond_t* c,
                const pthread_mutex_t* m, std::uint64_t site) noexcept {
  count(Count::cond_waits);
  if ((flags & kCondIsShared) != 0) count(Count::cond_waits_process_shared);
  if (me().busy) {  // in a signal handler that interrupted the bookkeeping
    count(Count::unrecorded);
    return;
  }
  Me& mine = known_me();
  if (!is_held_by(mine, m))
    note_wait(Finding::cond_wait_unheld, c, site, static_cast<std::uint32_t>(m->__data.__owner));
  if (layout_is_new) look_where_it_lies(mine, c, site, (flags & kCondIsShared) != 0);
  takes_again(mine, address_of(m), site);
  if (layout_is_new && (flags & kCondIsShared) == 0)
    world().conds.waits(mine, address_of(c), address_of(m), site, flags >> kWaiters);
  if ((flags & kCondIsShared) != 0 && would_be_swapped(m))
    note_wait(Finding::cond_shared_mutex_private, c, site, 0);
}

void count_clock(unsigned, clockid_t clock, const timespec*) noexcept {
  count(Count::cond_timed);
  if (clock == CLOCK_REALTIME) count(Count::cond_clock_realtime);
  if (clock == CLOCK_MONOTONIC) count(Count::cond_clock_monotonic);
}
void count_clock(unsigned flags, const timespec* at) noexcept {
  count_clock(flags, (flags & kCondIsMonotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME, at);
}
void count_clock(unsigned) noexcept {}

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
struct Audited {
  static constexpr bool kIsNew = Layout::kIsNew;

  static int on(InitCall auto call, pthread_cond_t* c, auto* attributes) noexcept {
    count(Count::cond_init);
    if (kIsNew && !me().busy) world().conds.forget(address_of(c));
    if constexpr (kIsNew) count_attributes(attributes);
    const int error = call.next(c, attributes);
    if (kIsNew && error == 0 && !me().busy && may_be_shared(c)) [[unlikely]] {
      const std::uint64_t site = address_of(call.caller);
      look_where_it_begins(known_me(site), c, site, is_shared(c));
    }
    return error;
  }
  static int on(DestroyCall auto call, pthread_cond_t* c) noexcept {
    count(Count::cond_destroy);
    if (kIsNew && !me().busy) world().conds.forget(address_of(c));
    return call.next(c);
  }
  template <WaitCall C>
  [[gnu::always_inline]] static int on(C call, pthread_cond_t* c, pthread_mutex_t* m,
                                       auto... args) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const unsigned flags = Layout::flags(c);
    count_wait(kIsNew, flags, c, m, site);
    count_clock(flags, args...);
    const int error = holds_locks() ? while_waiting(site, [=] { return C::next(c, m, args...); })
                                    : call.next(c, m, args...);
    has_taken_again(me(), address_of(m));
    return error;
  }
  template <SignalCall C>
  [[gnu::always_inline]] static int on(C call, pthread_cond_t* c) noexcept {
    constexpr bool kToAll = C::kAct == Act::broadcast;
    const Entry entry(c, address_of(call.caller));
    count(kToAll ? Count::cond_broadcast : Count::cond_signal);
    if (kIsNew && entry.recorded()) {
      look_where_it_lies(entry.me(), c, address_of(call.caller), is_shared(c));
      world().conds.wakes(address_of(c), kToAll);
    }
    return call.next(c);
  }

 private:
  static bool is_shared(const pthread_cond_t* c) noexcept {
    return (Layout::flags(c) & kCondIsShared) != 0;
  }
};

template <CondFlags kFlags>
constexpr CondOps audited = around<Audited<New<kFlags>>, system_cond>;

}  // namespace

const CondOps& audited_cond() noexcept {
  return object_layout.cond_flags == CondFlags::at_byte_28 ? audited<CondFlags::at_byte_28>
                                                           : audited<CondFlags::at_byte_36>;
}
constinit const CondOps audited_old_cond = around<Audited<Old>, system_old_cond>;

}  // namespace lockswap::audit
