// Mutexes: their kinds, the order in which they are taken, and which thread releases them. They
// stay glibc's.
#include "audit/mutex.h"

#include <cerrno>
#include <cstdint>

#include "audit/asking.h"
#include "audit/book.h"
#include "audit/bytes.h"
#include "audit/entry.h"
#include "audit/fork.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/shared.h"
#include "audit/stacks.h"
#include "audit/world.h"
#include "platform/ticks.h"

namespace lockswap::audit {
namespace {

static_assert(are_counts_of(sizeof(MutexOps), Count::mutex_init, Count::mutex_unlock));

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

bool is_process_shared(const pthread_mutex_t* m) noexcept { return (kind_bits(m) & kShared) != 0; }

// Returns whether the thread holds it already: a recursive lock, an error or a wait for itself.
bool is_mine(const pthread_mutex_t* m, const Me& me) noexcept {
  const auto owner = static_cast<std::uint32_t>(m->__data.__owner);
  return owner != 0 && (owner == me.tid || owner == me.tid_before);
}

void look_at_order(Me& m, const pthread_mutex_t* l, std::uint64_t site) noexcept {
  if (!holds_any(m) || is_process_shared(l) || is_mine(l, m)) return;
  look_at_order_of_mutex(m, address_of(l), site);
}

// Notes that the thread waits for a thread that doesn't exist here. In shared memory, the parent's
// thread may still release the mutex.
void look_at_owner(const Me& me, const pthread_mutex_t* m, std::uint64_t site) noexcept {
  const auto owner = static_cast<std::uint32_t>(m->__data.__owner);
  if (is_process_shared(m) || !is_of_parent(me, owner) || is_in_shared_memory(address_of(m)))
    return;
  if (world().threads.where_taken(owner, address_of(m)).site != 0) return;
  note(Finding::held_over_fork, {.lock = m,
                                 .site = site,
                                 .other_thread = owner,
                                 .stack = take_stack(me, site),
                                 .kinds = kOfMutexes});
}

void count_result(const pthread_mutex_t* m, Me& me, int error, std::uint64_t site) noexcept {
  switch (error) {
    case EOWNERDEAD:
      count(Count::mutex_owner_dead);
      [[fallthrough]];
    case 0:
      count(Count::mutex_acquired);
      if (me.record != nullptr && !is_inner_lock(m)) {
        const std::uint64_t held = me.record->mutexes.fetch_add(1, relaxed) + 1;
        raise_to(record().most_mutexes_held, held);
        if (!is_process_shared(m))
          remember_mutex(me, address_of(m), site, (kind_bits(m) & kRobust) != 0);
      }
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

// glibc knows the owner, so this needs no book. Owner 0: nobody, or an elided lock.
bool is_foreign(const pthread_mutex_t* m, const Me& me, std::uint32_t owner) noexcept {
  return owner != 0 && owner != me.tid && owner != me.tid_before && (kind_bits(m) & kShared) == 0;
}

// --- the end of a mutex

// A forked child often destroys a mutex that its parent held, in order to initialise it again.
bool is_left_by_parent(const MutexBytes& bytes, const Me& m) noexcept {
  const auto owner = static_cast<std::uint32_t>(bytes.owner);
  return is_forked() && (owner == 0 || owner == m.tid_before || is_of_parent(m, owner));
}

// glibc refuses to destroy a mutex that a thread holds, or will take again after a wait for a
// condition variable, and returns an error. It doesn't check the holder of a robust mutex.
void look_at_end(Me& me, const pthread_mutex_t* m, const MutexBytes& bytes, int error,
                 std::uint64_t site) noexcept {
  if (bytes.is_no_mutex()) {
    note(Finding::destroy_of_uninitialised, {.lock = m, .site = site, .kinds = kOfMutexes});
    return;
  }
  const bool robust = bytes.is_robust() && bytes.owner != 0 && (bytes.word & kOwnerDied) == 0;
  if ((error != EBUSY && !robust) || (bytes.kind & kShared) != 0 || is_left_by_parent(bytes, me))
    return;
  if (bytes.owner == 0) {
    note(Finding::destroy_while_awaited, {.lock = m, .site = site, .kinds = kOfMutexes});
    return;
  }
  const auto owner = static_cast<std::uint32_t>(bytes.owner);
  const TakenFrom taken = world().threads.where_taken(owner, address_of(m));
  note(Finding::destroy_while_held, {.lock = m,
                                     .site = site,
                                     .other_thread = owner,
                                     .other_site = taken.site,
                                     .stack = take_stack(me, site),
                                     .other_stack = taken.stack,
                                     .kinds = kOfMutexes});
}

struct Audited {
  template <InitCall C>
  static int on(C call, pthread_mutex_t* m, auto* attributes) noexcept {
    count(kCallsOf<C, Count::mutex_init>);
    const bool recorded = !me().busy;
    if (recorded) forget_mutex(address_of(m));
    const int error = call.next(m, attributes);
    if (error == 0 && recorded && may_be_shared(m)) [[unlikely]] {
      const std::uint64_t site = address_of(call.caller);
      look_where_it_begins(known_me(site), m, site);
    }
    return error;
  }
  template <DestroyCall C>
  [[gnu::always_inline]] static int on(C call, pthread_mutex_t* m) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const Entry entry(m, site);
    count(kCallsOf<C, Count::mutex_init>);
    if (!entry.recorded()) return call.next(m);
    forget_mutex(address_of(m));
    const MutexBytes before(m);
    const int error = call.next(m);
    look_at_end(entry.me(), m, before, error, site);
    return error;
  }
  template <LockCall C>
  [[gnu::always_inline]] static int on(C call, pthread_mutex_t* m, auto... args) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const Entry entry(m, site);
    count(kCallsOf<C, Count::mutex_init>);
    count_clock(args...);
    if (!entry.recorded()) return call.next(m, args...);
    look_where_it_lies(entry.me(), m, site);
    // A thread with a deadline goes on eventually, so such a wait is never part of a deadlock.
    if (C::kForm == Form::plain) {
      look_at_order(entry.me(), m, site);
      if (is_forked()) [[unlikely]]
        look_at_owner(entry.me(), m, site);
    }
    const int error = ask<C>(entry.me(), call, m, args...);
    if (error == 0 || error == EOWNERDEAD) count_kind(m);
    count_result(m, entry.me(), error, site);
    return error;
  }
  template <UnlockCall C>
  [[gnu::always_inline]] static int on(C call, pthread_mutex_t* m) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const Entry entry(m, site);
    count(kCallsOf<C, Count::mutex_init>);
    const auto owner = static_cast<std::uint32_t>(m->__data.__owner);
    const bool foreign = is_foreign(m, entry.me(), owner), inner = is_inner_lock(m);
    if (entry.recorded()) look_where_it_lies(entry.me(), m, site);
    const std::uint64_t now = Ticks::now();
    const int error = call.next(m);
    if (error == 0 && !inner && entry.recorded())
      count_release(m, entry.me(), foreign, owner, site, now);
    return error;
  }

 private:
  template <LockCall C>
  [[gnu::always_inline]] static int ask(Me& me, C call, pthread_mutex_t* m, auto... args) noexcept {
    if (C::kForm == Form::attempt) return call.next(m, args...);
    // A thread that holds it already gets an error, or waits for itself.
    const bool for_ever = C::kForm == Form::plain && !is_mine(m, me) && !is_process_shared(m);
    const Asking asking(me, {.address = address_of(m),
                             .site = address_of(call.caller),
                             .mode = static_cast<std::uint32_t>(kOfMutexes) | kToWrite |
                                     (for_ever ? kForEver : 0)});
    return call.next(m, args...);
  }
  static void count_release(const pthread_mutex_t* m, Me& me, bool foreign, std::uint32_t owner,
                            std::uint64_t site, std::uint64_t now) noexcept {
    if (foreign) {
      const TakenFrom taken = take_from(owner, m, now);
      note(Finding::foreign_mutex_release, {.lock = m,
                                            .site = site,
                                            .other_thread = owner,
                                            .other_site = taken.site,
                                            .stack = take_stack(me, site),
                                            .other_stack = taken.stack});
    } else if (ThreadRecord* r = me.record; r != nullptr) {
      lower(r->mutexes);
      end_hold_of_mutex(me, address_of(m), now);
    } else {
      take_from(owner, m, now);  // in a destructor, after the thread's end was noted
    }
  }
  static TakenFrom take_from(std::uint32_t owner, const pthread_mutex_t* m,
                             std::uint64_t now) noexcept {
    const TakenFrom taken = world().threads.took_mutex_from(owner, address_of(m));
    if (taken.since != 0) {
      note_time(
          Time::mutex,
          {.ns = Ticks::ns_between(taken.since, now), .lock = address_of(m), .stack = taken.stack});
    }
    if (taken.ended) withdraw(Finding::ended_holding, taken.site);
    return taken;
  }
};

}  // namespace

constinit const MutexOps audited_mutex = around<Audited, system_mutex>;

}  // namespace lockswap::audit
