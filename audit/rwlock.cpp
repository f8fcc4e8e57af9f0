#include "audit/rwlock.h"

#include <cerrno>
#include <cstddef>
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
#include "audit/waits.h"
#include "audit/world.h"
#include "platform/futex.h"
#include "platform/text.h"
#include "platform/ticks.h"

namespace lockswap::audit {
namespace {

static_assert(are_counts_of(sizeof(RwOps), Count::rw_init, Count::rw_unlock));

Noted against(const pthread_rwlock_t* l, std::uint64_t site, const Hold* hold) noexcept {
  if (hold == nullptr) return {.lock = l, .site = site};
  return {.lock = l,
          .site = site,
          .other_thread = hold->tid,
          .other_site = hold->site,
          .other_stack = hold->stack};
}

void count_object(const LockEntry& entry) noexcept {
  count(Count::rwlocks);
  if (entry.shared != 0) count(Count::rw_process_shared);
  if (entry.kind == PTHREAD_RWLOCK_PREFER_WRITER_NP) count(Count::rw_prefer_writer);
  if (entry.kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
    count(Count::rw_prefer_writer_nonrecursive);
}

// Adds an entry by the object's bytes.
LockEntry* add_entry(Shard& shard, const pthread_rwlock_t* l) noexcept {
  LockEntry* entry = shard.add(address_of(l));
  if (entry == nullptr) {
    count(Count::unrecorded);
    return nullptr;
  }
  entry->kind = kind_of(l);
  entry->shared = is_process_shared(l) ? 1 : 0;
  count_object(*entry);
  return entry;
}

// Another process may hold a lock in such memory, or change it at any time.
void set_in_shared(LockEntry& entry) noexcept {
  entry.is_in_shared = true;
  entry.known = 0;
}

void look_at_new(LockEntry& entry, const pthread_rwlock_t* l, std::uint64_t site) noexcept {
  if (entry.shared != 0 || entry.is_in_shared || looks_fresh(l)) return;
  entry.known = is_forked() ? 0 : 1;
  if (entry.known != 0) note(Finding::used_before_seen, {.lock = l, .site = site});
}

// Returns the entry of a lock in use. Checks the lock's bytes if they can show something.
LockEntry* see(Shard& shard, const pthread_rwlock_t* l, const Me& m, std::uint64_t site) noexcept {
  LockEntry* entry = shard.find(address_of(l));
  // A mutex that was abandoned, or a destroyed lock whose memory is a new lock by now.
  if (entry != nullptr && (entry->is_mutex || (entry->was_destroyed && looks_fresh(l)))) {
    shard.remove(address_of(l));
    entry = nullptr;
  }
  const bool in_shared = look_where_it_lies(m, l, site);
  const bool is_new = entry == nullptr;
  if (is_new) entry = add_entry(shard, l);
  if (entry == nullptr) return nullptr;
  if (in_shared) set_in_shared(*entry);
  if (is_new) {
    look_at_new(*entry, l, site);
  } else if (entry->holds != nullptr && looks_fresh(l)) {
    // A recorded hold shows in the bytes, so this must be another lock by now.
    note(Finding::memory_reset_while_held, against(l, site, entry->holds));
    shard.remove_holds(*entry);
    entry->number = new_lock_number();
  }
  return entry;
}

// --- acquiring

struct Arrival {
  bool recursive = false;
  bool writer_waits = false;
  std::uint64_t first_site = 0;  // where the thread's first hold was taken
  std::uint64_t number = 0;      // the lock's; 0 if no order is to be noted
  std::uint64_t since = 0;       // in Ticks, for a writer; 0 if it doesn't wait, or isn't timed
  std::uint64_t passed = 0;      // the lock's count at that time
};

// A thread with a deadline goes on eventually, so only what it holds for reading may be part of a
// deadlock.
template <LockCall C>
void look_at_order(Me& m, const pthread_rwlock_t* l, std::uint64_t number,
                   std::uint64_t site) noexcept {
  if (C::kForm == Form::attempt || number == 0 || !holds_any(m)) return;
  world().orders.note_all(m, {.address = address_of(l),
                              .number = number,
                              .site = site,
                              .writes = !C::kReads,
                              .for_ever = C::kForm == Form::plain,
                              .is_mutex = false});
}

template <LockCall C>
Arrival arrive(const pthread_rwlock_t* l, Me& m, std::uint64_t site) noexcept {
  Shard& shard = shard_of(l);
  const Section section(shard.guard);
  LockEntry* entry = see(shard, l, m, site);
  if (entry == nullptr) return {};
  if (entry->shared != 0) count(Count::rw_calls_shared);
  const Hold* mine = Shard::hold_of(*entry, m.serial);
  const bool reads = mine != nullptr && mine->reads != 0;
  Arrival arrival;
  if (C::kReads && reads) {
    arrival = {
        .recursive = true, .writer_waits = entry->waiting_writers != 0, .first_site = mine->site};
    if (C::kForm != Form::attempt && arrival.writer_waits &&
        entry->kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) {
      note(Finding::recursive_read_shut_out, against(l, site, mine));
    }
  }
  if (!C::kReads && reads && C::kForm == Form::plain)
    note(Finding::self_deadlock, against(l, site, mine));
  if (C::kForm == Form::attempt) return arrival;
  if (C::kForm == Form::plain && entry->shared == 0 && !entry->is_in_shared &&
      entry->holds == nullptr) {
    const auto writer = static_cast<std::uint32_t>(l->__data.__cur_writer);
    if (is_of_parent(m, writer))
      note(Finding::held_over_fork,
           {.lock = l, .site = site, .other_thread = writer, .kinds = kOfRwlocks});
  }
  if (mine == nullptr && entry->shared == 0) arrival.number = entry->number;
  if (!C::kReads) {
    look_at_waiting_readers(*entry, m, site);
    arrival.passed = entry->passed;
    arrival.since = Ticks::now();
    if (entry->waiting_writers == 0) entry->awaited = entry->let_go = arrival.since;
  }
  shard.wait(C::kReads ? entry->waiting_readers : entry->waiting_writers);
  return arrival;
}

void hold(Shard& shard, LockEntry& entry, Me& m, bool reads, std::uint64_t now, std::uint64_t site,
          std::uint32_t stack) noexcept {
  Hold* mine = Shard::hold_of(entry, m.serial);
  if (mine == nullptr) {
    mine = shard.add_hold(entry, m, now, site, stack);
    if (mine == nullptr) {
      count(Count::unrecorded);
      return;
    }
    if (m.record != nullptr)
      raise_to(record().most_rwlocks_held, m.record->rwlocks.fetch_add(1, relaxed) + 1);
    if (entry.shared == 0) {
      if (m.held.locks.is_full()) count(Count::holds_left_out);
      m.held.locks.add({.address = entry.address,
                        .number = entry.number,
                        .site = site,
                        .step = ++m.held.steps,
                        .stack = stack,
                        .place = 0,
                        .writes = !reads,
                        .is_mutex = false,
                        .is_robust = false});
    }
  }
  if (reads) {
    if (entry.waiting_writers != 0) ++entry.passed;
    ++mine->reads;
  } else {
    mine->writes = 1;
  }
}

void count_error(const pthread_rwlock_t* l, int error, std::uint64_t site) noexcept {
  switch (error) {
    case EBUSY:
      count(Count::rw_busy);
      break;
    case ETIMEDOUT:
      count(Count::rw_timeouts);
      break;
    case EAGAIN:
      count(Count::rw_again);
      break;
    case EINVAL:
      count(Count::rw_invalid);
      break;
    case EDEADLK:
      count(Count::rw_deadlk);
      note(Finding::deadlk, {.lock = l, .site = site});
      break;
    default:
      break;
  }
}

// Notes a writer that readers pass again and again. Its wait for holds that were there before it
// doesn't count, because it would wait for those under any lock.
void look_at_wait(const LockEntry& entry, const pthread_rwlock_t* l, const Arrival& arrival,
                  std::uint64_t now, std::uint64_t site, std::uint32_t stack) noexcept {
  constexpr std::uint64_t kLong = 1'000'000'000, kMany = 50;
  const std::uint64_t ns = Ticks::ns_between(arrival.since, now);
  const std::uint64_t passed = entry.passed < arrival.passed ? 0 : entry.passed - arrival.passed;
  note_time(Time::write_wait, {.ns = ns, .lock = entry.address, .stack = stack});
  const bool is_first = arrival.since == entry.awaited;
  if (!is_first || Ticks::ns_between(entry.let_go, now) < kLong || passed < kMany) return;
  char text[100];
  Text(text, sizeof text) << "waited " << ns / 1'000'000 << " ms, passed by " << passed << " reads";
  note(Finding::starving_writer, {.lock = l, .site = site, .name = text, .stack = stack});
}

template <LockCall C>
void book(const pthread_rwlock_t* l, Me& m, int error, const Arrival& arrival,
          std::uint64_t site) noexcept {
  const std::uint32_t stack = error == 0 && !arrival.recursive ? take_stack(m, site) : 0;
  {
    Shard& shard = shard_of(l);
    const Section section(shard.guard);
    LockEntry* entry = shard.find(address_of(l));
    const std::uint64_t now = Ticks::now();
    if (entry != nullptr && C::kForm != Form::attempt)
      shard.stop_waiting(C::kReads ? entry->waiting_readers : entry->waiting_writers);
    if (entry != nullptr && arrival.since != 0 && (error == 0 || error == ETIMEDOUT))
      look_at_wait(*entry, l, arrival, now, site, stack);
    if (entry != nullptr && error == 0) hold(shard, *entry, m, C::kReads, now, site, stack);
  }
  if (error != 0) {
    count_error(l, error, site);
    return;
  }
  count(C::kReads ? Count::reads : Count::writes);
  if (!arrival.recursive) return;
  const Noted noted{.lock = l, .site = site, .other_site = arrival.first_site};
  note(Finding::recursive_read, noted);
  if (arrival.writer_waits) note(Finding::recursive_read_writer_waiting, noted);
}

void count_clock() noexcept {}
void count_clock(clockid_t clock) noexcept {
  count(clock == CLOCK_REALTIME    ? Count::rw_clock_realtime
        : clock == CLOCK_MONOTONIC ? Count::rw_clock_monotonic
                                   : Count::rw_clock_other);
}
void count_clock(clockid_t clock, const timespec*) noexcept { count_clock(clock); }
void count_clock(const timespec*) noexcept { count_clock(CLOCK_REALTIME); }

// --- releasing

// Returns the hold that a thread without one ends by its release: the writer's, or the oldest
// reader's.
Hold* somebodys(const LockEntry& entry) noexcept {
  Hold* last = entry.holds;
  for (Hold* h = entry.holds; h != nullptr; h = h->next) {
    if (h->writes != 0) return h;
    last = h;
  }
  return last;
}

void release_one(Shard& shard, LockEntry& entry, Hold* h, Me& m) noexcept {
  const bool wrote = h->writes != 0;
  if (wrote) {
    h->writes = 0;
  } else {
    --h->reads;
  }
  if (h->writes != 0 || h->reads != 0) return;
  const std::uint64_t now = Ticks::now();
  note_time(wrote ? Time::write : Time::read,
            {.ns = Ticks::ns_between(h->since, now), .lock = entry.address, .stack = h->stack});
  if (!wrote && entry.waiting_writers != 0 && h->since < entry.awaited) entry.let_go = now;
  if (h->ended) withdraw(Finding::ended_holding, h->site);
  if (h->serial == m.serial)
    m.held.locks.remove([&](const HeldLock& one) { return one.number == entry.number; });
  shard.remove_hold(entry, h);
}

// Called before the release itself, because afterwards another thread may have the lock, or destroy
// it.
void depart(const pthread_rwlock_t* l, Me& m, std::uint64_t site) noexcept {
  Shard& shard = shard_of(l);
  const Section section(shard.guard);
  LockEntry* entry = see(shard, l, m, site);
  if (entry == nullptr) return;
  if (entry->shared != 0) count(Count::rw_calls_shared);
  Hold* mine = Shard::hold_of(*entry, m.serial);
  if (mine != nullptr) {
    release_one(shard, *entry, mine, m);
    return;
  }
  Hold* other = somebodys(*entry);
  if (other != nullptr) {
    if (entry->shared == 0) {
      Noted noted = against(l, site, other);
      noted.stack = take_stack(m, site);
      note(other->writes != 0 ? Finding::foreign_write_release : Finding::foreign_read_release,
           noted);
    }
    release_one(shard, *entry, other, m);
  } else if (entry->shared == 0 && entry->known != 0) {  // if shared, another process may hold it
    note(Finding::release_of_unheld, {.lock = l, .site = site});
  }
}

// Returns whether glibc's words show this hold. The memory may be gone.
bool shows(const LockEntry& entry, const Hold& h) noexcept {
  const auto at = [&](std::size_t offset) { return entry.address + offset; };
  constexpr std::size_t kWriter = offsetof(pthread_rwlock_t, __data.__cur_writer);
  constexpr std::size_t kReaders = offsetof(pthread_rwlock_t, __data.__readers);
  if (!is_mapped(at(kReaders))) return false;
  return h.writes != 0 ? futex_word_is(at(kWriter), h.tid) : !futex_word_is(at(kReaders), 0);
}

}  // namespace

void note_times_of_open_holds() noexcept {
  const Busy busy;
  const std::uint64_t now = Ticks::now();
  for (Shard& shard : world().shards) {
    const Section section(shard.guard);
    if (shard.is_idle()) continue;
    shard.each([&](const LockEntry& entry) {
      for (const Hold* h = entry.holds; h != nullptr; h = h->next) {
        if (!shows(entry, *h)) continue;
        note_time(h->writes != 0 ? Time::write : Time::read,
                  {.ns = Ticks::ns_between(h->since, now),
                   .lock = entry.address,
                   .stack = h->stack,
                   .goes_on = true});
      }
    });
  }
}

void note_rwlocks_at_end(Me& m) noexcept {
  const Busy busy;
  for (const HeldLock& held : m.held.locks) {
    visit_hold(held, m.serial, [](const LockEntry& entry, Hold& h) {
      if (!shows(entry, h)) return;
      h.ended = true;
      note(Finding::ended_holding, {.lock = pointer_to(entry.address),
                                    .site = h.site,
                                    .stack = h.stack,
                                    .kinds = kOfRwlocks});
    });
  }
}

namespace {

// --- beginning and end of a lock

void begin(const pthread_rwlock_t* l, const Me& m, std::uint64_t site) noexcept {
  const bool in_shared = look_where_it_begins(m, l, site);
  Shard& shard = shard_of(l);
  const Section section(shard.guard);
  LockEntry* const entry = add_entry(shard, l);
  if (entry != nullptr && in_shared) set_in_shared(*entry);
}

void end(const pthread_rwlock_t* l, Finding while_held, std::uint64_t site) noexcept {
  const bool destroys = while_held == Finding::destroy_while_held;
  Shard& shard = shard_of(l);
  const Section section(shard.guard);
  const LockEntry* old = shard.find(address_of(l));
  if (old == nullptr) {
    if (destroys && is_no_rwlock(l))
      note(Finding::destroy_of_uninitialised, {.lock = l, .site = site, .kinds = kOfRwlocks});
    return;
  }
  // Fresh bytes: the memory belongs to a new object, and the old lock was abandoned.
  const bool held = old->holds != nullptr && !looks_fresh(l);
  const bool awaited = old->waiting_readers + old->waiting_writers != 0;
  if (held) {
    Noted noted = against(l, site, old->holds);
    noted.kinds = kOfRwlocks;
    note(while_held, noted);
  }
  if (destroys && awaited)
    note(Finding::destroy_while_awaited, {.lock = l, .site = site, .kinds = kOfRwlocks});
  shard.remove(address_of(l));
  if (!destroys || !(held || awaited)) return;
  // Its users go on. Their releases, and what they take again, are not reported again.
  if (LockEntry* entry = shard.add(address_of(l))) {
    entry->was_destroyed = true;
    entry->known = 0;
    entry->kind = kind_of(l);
    entry->shared = is_process_shared(l) ? 1 : 0;
  }
}

// --- the functions

struct Audited {
  template <InitCall C>
  [[gnu::always_inline]] static int on(C call, pthread_rwlock_t* l, auto* attributes) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const Entry entry(l, site);
    count(kCallsOf<C, Count::rw_init>);
    if (!entry.recorded()) return call.next(l, attributes);
    end(l, Finding::init_while_held, site);
    const int error = call.next(l, attributes);
    if (error == 0) begin(l, entry.me(), site);
    return error;
  }
  template <DestroyCall C>
  [[gnu::always_inline]] static int on(C call, pthread_rwlock_t* l) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const Entry entry(l, site);
    count(kCallsOf<C, Count::rw_init>);
    if (entry.recorded()) end(l, Finding::destroy_while_held, site);
    return call.next(l);
  }
  template <LockCall C>
  [[gnu::always_inline]] static int on(C call, pthread_rwlock_t* l, auto... args) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const Entry entry(l, site);
    count(kCallsOf<C, Count::rw_init>);
    count_clock(args...);
    if (!entry.recorded()) return call.next(l, args...);
    const Arrival arrival = arrive<C>(l, entry.me(), site);
    look_at_order<C>(entry.me(), l, arrival.number, site);
    const int error = ask<C>(entry.me(), call, l, args...);
    book<C>(l, entry.me(), error, arrival, site);
    return error;
  }
  template <UnlockCall C>
  [[gnu::always_inline]] static int on(C call, pthread_rwlock_t* l) noexcept {
    const std::uint64_t site = address_of(call.caller);
    const Entry entry(l, site);
    count(kCallsOf<C, Count::rw_init>);
    if (entry.recorded()) depart(l, entry.me(), site);
    return call.next(l);
  }

 private:
  template <LockCall C>
  [[gnu::always_inline]] static int ask(Me& me, C call, pthread_rwlock_t* l,
                                        auto... args) noexcept {
    if (C::kForm == Form::attempt) return call.next(l, args...);
    const bool for_ever = C::kForm == Form::plain && !is_process_shared(l);
    const Asking asking(me, {.address = address_of(l),
                             .site = address_of(call.caller),
                             .mode = static_cast<std::uint32_t>(kOfRwlocks) |
                                     (C::kReads ? 0 : kToWrite) | (for_ever ? kForEver : 0)});
    return call.next(l, args...);
  }
};

}  // namespace

constinit const RwOps audited_rwlock = around<Audited, system_rwlock>;

}  // namespace lockswap::audit
