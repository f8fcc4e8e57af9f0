#include "audit/mutex_holds.h"

#include <algorithm>
#include <cstddef>
#include <pthread.h>

#include "audit/book.h"
#include "audit/guard.h"
#include "audit/report.h"
#include "audit/stacks.h"
#include "audit/world.h"
#include "platform/futex.h"
#include "platform/ticks.h"

namespace lockswap::audit {
namespace {

// relaxed, all: the thread's own stores, or another thread's, which may be seen later.
bool is_taken(const Me& m, const HeldLock& one) noexcept {
  return m.record->mutex[one.place].address.load(relaxed) != one.address;
}

HeldLock* find(Me& m, std::uint64_t address) noexcept {
  auto* const one = std::find_if(m.held.mutexes.begin(), m.held.mutexes.end(),
                                 [&](const HeldLock& l) { return l.address == address; });
  return one == m.held.mutexes.end() ? nullptr : one;
}

void set_since(Me& m, std::uint64_t address, std::uint64_t since) noexcept {
  const HeldLock* const one = find(m, address);
  if (one == nullptr || is_taken(m, *one)) return;
  m.record->mutex[one->place].since.store(since, relaxed);  // relaxed: its own, but for the end
}

// Called when the hold ends, or a wait interrupts it.
void note_time_of(const Me& m, const HeldLock& one, std::uint64_t now) noexcept {
  if (is_taken(m, one)) return;
  const std::uint64_t since = m.record->mutex[one.place].since.load(relaxed);
  if (since == 0) return;
  note_time(Time::mutex,
            {.ns = Ticks::ns_between(since, now), .lock = one.address, .stack = one.stack});
}

}  // namespace

void remember_mutex(Me& m, std::uint64_t address, std::uint64_t site, bool is_robust) noexcept {
  const Busy busy;
  forget_held_mutex(m, address);  // its memory was reused while this thread held it
  const auto* end = m.record->mutex + kMostHeld;
  auto* place = std::find_if(m.record->mutex, m.record->mutex + kMostHeld,
                             [](const auto& one) { return one.address.load(relaxed) == 0; });
  if (place == end) forget_taken_mutexes(m);
  if (place == end || m.held.mutexes.is_full()) {
    count(Count::holds_left_out);
    return;
  }
  const std::uint32_t stack = take_stack(m, site);
  place->site.store(site, relaxed);  // relaxed: the address comes last
  place->stack.store(stack, relaxed);
  place->ended.store(false, relaxed);
  place->since.store(Ticks::now(), relaxed);
  place->address.store(address, release);  // pairs with took_mutex_from
  m.held.mutexes.add({.address = address,
                      .number = 0,
                      .site = site,
                      .step = ++m.held.steps,
                      .stack = stack,
                      .place = static_cast<std::uint32_t>(place - m.record->mutex),
                      .writes = true,
                      .is_mutex = true,
                      .is_robust = is_robust});
}

void forget_held_mutex(Me& m, std::uint64_t address) noexcept {
  const Busy busy;
  m.held.mutexes.remove([&](const HeldLock& one) {
    if (one.address != address) return false;
    if (!is_taken(m, one)) m.record->mutex[one.place].address.store(0, relaxed);
    return true;
  });
}

void forget_taken_mutexes(Me& m) noexcept {
  const auto taken = [&](const HeldLock& one) { return is_taken(m, one); };
  while (std::any_of(m.held.mutexes.begin(), m.held.mutexes.end(), taken))
    m.held.mutexes.remove(taken);
}

void look_at_order_of_mutex(Me& m, std::uint64_t address, std::uint64_t site) noexcept {
  const Busy busy;
  forget_taken_mutexes(m);
  if (!holds_any(m)) return;
  world().orders.note_all(m, {.address = address,
                              .number = number_of_mutex(address),
                              .site = site,
                              .writes = true,
                              .for_ever = true,
                              .is_mutex = true});
}

void takes_again(Me& m, std::uint64_t address, std::uint64_t site) noexcept {
  if (m.record == nullptr) return;
  const Busy busy;
  HeldLock* const one = find(m, address);
  if (one == nullptr) return;
  note_time_of(m, *one, Ticks::now());
  if (m.held.mutexes.size() + m.held.locks.size() > 1) look_at_order_of_mutex(m, address, site);
  remember_mutex(m, address, site, one->is_robust);
  set_since(m, address, 0);
}

void has_taken_again(Me& m, std::uint64_t address) noexcept {
  if (m.record == nullptr || m.busy || m.process != world().number) return;
  const Busy busy;
  set_since(m, address, Ticks::now());
}

void end_hold_of_mutex(Me& m, std::uint64_t address, std::uint64_t now) noexcept {
  const Busy busy;
  if (const HeldLock* one = find(m, address)) note_time_of(m, *one, now);
  forget_held_mutex(m, address);
}

void note_times_of_open_mutexes() noexcept {
  const Busy busy;
  const std::uint64_t now = Ticks::now();
  world().threads.each_mutex_of_others(
      0, [now](std::uint64_t address, const TakenFrom& taken, std::uint32_t tid) {
        if (taken.since == 0 || !shows_owner(address, tid)) return;
        note_time(Time::mutex, {.ns = Ticks::ns_between(taken.since, now),
                                .lock = address,
                                .stack = taken.stack,
                                .goes_on = true});
      });
}

bool shows_owner(std::uint64_t mutex, std::uint32_t tid) noexcept {
  const std::uint64_t owner = mutex + offsetof(pthread_mutex_t, __data.__owner);
  return is_mapped(owner) && futex_word_is(owner, tid);
}

void note_mutexes_at_end(Me& m) noexcept {
  const Busy busy;
  forget_taken_mutexes(m);
  for (const HeldLock& one : m.held.mutexes) {
    if (one.is_robust || !shows_owner(one.address, m.tid)) continue;
    const Noted noted{
        .lock = pointer_to(one.address), .site = one.site, .stack = one.stack, .kinds = kOfMutexes};
    world().threads.ends_with(m.record->mutex[one.place],
                              [&] { note(Finding::ended_holding, noted); });
  }
}

}  // namespace lockswap::audit
