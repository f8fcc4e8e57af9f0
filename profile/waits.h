// Waits, and which releases are charged for them.
#pragma once

#include <cstdint>

#include "platform/ticks.h"
#include "profile/classes.h"
#include "profile/world.h"

namespace lockswap::profile {

inline std::uint64_t max_of(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a : b; }

// --- holds

// Begins to measure for how much of a sampled hold its thread runs, if holds tend to be long.
// Returns false if the thread is measuring another hold already.
bool begin_split(Thread& t, const void* lock, std::uint64_t since) noexcept;
// Counts a sampled hold that has ended. `is_split`: begin_split returned true for it.
void end_split(Thread& t, ModeTally& m, const void* lock, std::uint64_t since, bool is_split,
               std::uint64_t ns) noexcept;

// Begins a hold that is timed because it is sampled, or because its thread had to wait.
void begin_timed_hold(Thread& t, const void* lock, const Seen& seen, Mode mode, bool sampled,
                      const void* caller) noexcept;

// relaxed, all: `held` is stored after them.
inline void write_hold(Hold& h, const void* lock, const Seen& seen, std::uint32_t how,
                       const void* caller) noexcept {
  const Object* const o = seen.object != nullptr ? seen.object : &world().nothing;
  h.address.store(reinterpret_cast<std::uint64_t>(lock), relaxed);
  h.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
  h.what.store(Hold::packed(seen.number, how), relaxed);
  h.object.store(reinterpret_cast<std::uint64_t>(o), relaxed);
}
// Writes the hold again after a signal handler has written there.
[[gnu::noinline]] void rewrite_hold(Hold& h, std::uint64_t address, Object* object,
                                    std::uint64_t what, const void* caller) noexcept;

// Called when the thread has acquired the lock. `waited`: the hold is timed in any case.
[[gnu::always_inline]] inline void begin_hold(Thread& t, const void* lock, const Seen& seen,
                                              Mode mode, bool waited, const void* caller) noexcept {
  Live& live = *t.live;
  const std::uint32_t held = live.held.load(relaxed);  // relaxed: only this thread writes it
  if (held >= kMostHolds) [[unlikely]] {
    record().dropped.holds.fetch_add(1, relaxed);  // relaxed: a count
    return;
  }
  bool sampled = false;
  if (seen.tally != nullptr) [[likely]] {
    const ModeTally& m = seen.tally->mode[static_cast<std::uint32_t>(mode)];
    sampled = m.acquisitions >= m.next_drawn;
  }
  if (sampled || waited) [[unlikely]] {
    begin_timed_hold(t, lock, seen, mode, sampled, caller);
    return;
  }
  // relaxed, all: `held` is stored after them.
  write_hold(live.hold[held], lock, seen, static_cast<std::uint32_t>(mode), caller);
  live.held.store(held + 1, release);  // pairs with the load in another process
}

// The same for a lock that the thread took recently and has now acquired, if there is nothing to
// time. `key` is the lock's, which `recent` had before the acquisition; signal handlers may have
// run since, and may even have forked. Returns false if there is more to do. A signal handler may
// interrupt this function and call it: it ends what it begins, and leaves its own data in the
// unfinished hold. If it took a lock with the same place in `recent`, this acquisition counts as
// one of that lock.
[[gnu::always_inline]] inline bool begin_plain_hold(const Me& m, const void* lock,
                                                    const Recent& recent, std::uint64_t key,
                                                    const void* caller) noexcept {
  if (recent.key != key) [[unlikely]]
    return false;
  const auto address = reinterpret_cast<std::uint64_t>(lock);
  ModeTally& tally = *recent.tally;
  Live& live = *m.live;
  const std::uint32_t held = live.held.load(relaxed);  // relaxed, all: as in begin_hold
  if (tally.acquisitions >= tally.next_drawn || held >= kMostHolds) [[unlikely]]
    return false;
  ++tally.acquisitions;
  Hold& h = live.hold[held];
  h.address.store(address, relaxed);
  h.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
  h.what.store(tally.plain_hold, relaxed);
  h.object.store(reinterpret_cast<std::uint64_t>(recent.object), relaxed);
  live.held.store(held + 1, release);  // pairs with the load in another process
  if (h.address.load(relaxed) != address) [[unlikely]]
    rewrite_hold(h, address, recent.object, tally.plain_hold, caller);
  return true;
}

// Ends the thread's last hold if there is nothing else to do: it is of this lock, is not timed, and
// nobody waits for it. Most holds are like that. In a forked child no object has an address.
[[gnu::always_inline]] inline bool end_plain_hold(const Me& m, const void* lock) noexcept {
  if (!m.ready) [[unlikely]]
    return false;
  Live& live = *m.live;
  // relaxed, all: as in end_hold and end_and_announce.
  const std::uint32_t held = live.held.load(relaxed);
  if (held == 0) [[unlikely]]
    return false;
  const Hold& h = live.hold[held - 1];
  const Object& o = *reinterpret_cast<const Object*>(h.object.load(relaxed));
  if (o.address.load(relaxed) != reinterpret_cast<std::uint64_t>(lock) ||
      (h.what.load(relaxed) & (Hold::kTimed | Hold::kWaited)) != 0 || o.waiters.load(relaxed) != 0)
      [[unlikely]]
    return false;
  live.held.store(held - 1, relaxed);
  return true;
}

struct EndedHold {
  Mode mode = Mode::unknown;  // the thread has no such hold
  bool inner = false;         // it still holds the lock
  bool sampled = false;
  bool waited = false;  // it waited for another lock
  std::uint64_t since = 0;
  bool is_split = false;
};

inline EndedHold end_hold(Thread& t, const void* lock) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(lock);
  Live& live = *t.live;
  // relaxed, all: only this thread writes it, and another process reads twice.
  const std::uint32_t held = live.held.load(relaxed);
  for (std::uint32_t i = held; i-- != 0;) {
    const Hold& h = live.hold[i];
    if (h.address.load(relaxed) != address) continue;
    const std::uint32_t how = h.how();
    EndedHold ended{static_cast<Mode>(how & Hold::kModes),
                    false,
                    (how & Hold::kSampled) != 0,
                    (how & Hold::kWaited) != 0,
                    h.begin(),
                    (how & Hold::kSplit) != 0};
    for (std::uint32_t j = i; j-- != 0;)
      ended.inner = ended.inner || live.hold[j].address.load(relaxed) == address;
    for (; i + 1 < held; ++i)
      live.hold[i].copy(live.hold[i + 1]);
    live.held.store(held - 1, relaxed);
    return ended;
  }
  return {};
}

inline void count_hold(Thread& t, Tally* tally, const void* lock, const EndedHold& h,
                       std::uint64_t now) noexcept {
  if (tally == nullptr || h.since == 0 || h.inner) return;
  ModeTally& m = tally->mode[static_cast<std::uint32_t>(h.mode)];
  const std::uint64_t ns = Ticks::ns_between(h.since, now);
  m.most_hold_ns = max_of(m.most_hold_ns, ns);
  if (!h.sampled) return;
  ++m.timed_holds;
  m.hold_ns += ns;
  ++m.hold.n[Histogram::bucket(ns)];
  if (ns >= kThresholdNs || m.long_expected != 0) [[unlikely]]
    end_split(t, m, lock, h.since, h.is_split, ns);
}

// --- releases that threads wait for

// Called before the release: stores when it is and who releases. After the release, locate_release
// finds out where.
Release& announce_release(Thread& t, Object& o, Mode mode, std::uint64_t now, const void* caller,
                          bool has_waited = false, std::uint64_t kept_since = 0) noexcept;
// The same for the release of a lock, at the end of its hold.
Release& announce_end(Thread& t, Object& o, const EndedHold& hold, std::uint64_t now,
                      const void* caller) noexcept;
void locate_release(Thread& t, const Object& o, Release& r, const void* caller) noexcept;
// The same for a signal. The thread may hold the mutex, so it unwinds no more than a waiter does.
void locate_signal(Thread& t, Release& r, const void* caller, std::uint64_t now) noexcept;

// --- waits

// Ends the waits noted in the thread's Live whose calls it has left. `frame` is that of its present
// call.
void look_for_left(Thread& t, const void* frame) noexcept;
// Called before a wait is noted there. `mark` is in the stack frame of its call.
void enter_wait(Thread& t, const CallMark& mark) noexcept;
// Ends the thread's waits from the n-th on, which it left without returning.
void leave_waits(Thread& t, std::uint32_t n) noexcept;

// A wait, or an acquisition that may have to wait.
struct Wait {
  std::uint64_t begin;
  Ref release;  // the last one, at the beginning, that may end such a wait
  std::uint32_t stack;
};
// `expected`: the lock's state said that the thread must wait. Otherwise no stack is unwound.
Wait begin_wait(Thread& t, const Seen& seen, const void* lock, Mode mode, const void* caller,
                bool expected, bool has_deadline, const CallMark& mark) noexcept;
void stop_waiting(Thread& t, Object& o) noexcept;
// Returns whether a thread that was not expected to wait has waited, because a release found it
// among the waiters. A watched object is no longer watched after some acquisitions without a wait.
bool has_waited(Object& o, const Wait& wait, Mode mode) noexcept;
// Readers keep no reader waiting.
inline Ref last_release(const Object& o, Mode mode) noexcept {
  return (mode == Mode::shared ? o.by_writer : o.release).load(relaxed);  // relaxed: only compared
}
inline void watch(Object& o) noexcept {
  // relaxed, both: a wait at an object that is not watched is still counted if the lock's state
  // shows it.
  o.quiet.store(0, relaxed);
  if (!o.is_watched()) o.what.fetch_or(Object::kWatched, relaxed);
}
inline bool holds_locks(const Thread& t) noexcept { return t.live->held.load(relaxed) != 0; }
inline void count_contended(ModeTally& m, std::uint64_t ns) noexcept {
  ++m.contended;
  m.wait_ns += ns;
  m.most_wait_ns = max_of(m.most_wait_ns, ns);
  ++m.wait.n[Histogram::bucket(ns)];
  if (ns >= kThresholdNs) ++m.long_waits;
}
// Stores when the thread waited, in ticks.
void note_wait(Tally& tally, std::uint64_t begin, std::uint64_t end) noexcept;
// Called when the thread has the lock.
void count_wait(Thread& t, const Seen& seen, const Wait& wait, Mode mode, std::uint64_t end,
                const void* caller) noexcept;

// Charges the wait to the release that ended it, or postpones that if the releasing thread is still
// finding out where it is.
void charge_wait(Thread& t, const Pending& p) noexcept;
// Returns when that release was, in ticks, or 0 if unknown.
std::uint64_t ended_at(const Pending& p) noexcept;

// Charges the wait that was postponed because the holder was still finding out where it is. now:
// even if it still is.
void charge_pending(Thread& t, bool now) noexcept;

}  // namespace lockswap::profile
