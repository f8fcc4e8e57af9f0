// Waits, and the releases that are charged for them.
#pragma once

#include <cstdint>

#include "platform/ticks.h"
#include "profile/classes.h"
#include "profile/world.h"

namespace lockswap::profile {

inline std::uint64_t max_of(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a : b; }

// --- holds

// Begins to measure how much of a drawn hold its thread runs, where holds tend to be long. Returns
// false if the thread measures another hold already.
bool begin_split(Thread& t, const void* lock, std::uint64_t since) noexcept;
// Counts a drawn hold that has ended. `is_split`: begin_split returned true for it.
void end_split(Thread& t, ModeTally& m, const void* lock, std::uint64_t since, bool is_split,
               std::uint64_t ns) noexcept;

// Begins a hold that is timed because it is drawn, or because its thread had to wait.
void begin_timed_hold(Thread& t, const void* lock, const Seen& seen, Mode mode, bool sampled,
                      const void* caller) noexcept;

// relaxed, all: `held` is stored behind them.
inline void write_hold(Hold& h, const void* lock, const Seen& seen, std::uint32_t how,
                       const void* caller) noexcept {
  const Object* const o = seen.object != nullptr ? seen.object : &world().nothing;
  h.address.store(reinterpret_cast<std::uint64_t>(lock), relaxed);
  h.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
  h.what.store(Hold::packed(seen.number, how), relaxed);
  h.object.store(reinterpret_cast<std::uint64_t>(o), relaxed);
}
// Writes it again after a signal handler has written there.
[[gnu::noinline]] void rewrite_hold(Hold& h, std::uint64_t address, Object* object,
                                    std::uint64_t what, const void* caller) noexcept;

// When the thread has acquired the lock. `waited`: the hold is timed in any case.
[[gnu::always_inline]] inline void begin_hold(Thread& t, const void* lock, const Seen& seen,
                                              Mode mode, bool waited, const void* caller) noexcept {
  Live& live = *t.live;
  const std::uint32_t held = live.held.load(relaxed);  // relaxed: this thread's own
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
  // relaxed, all: `held` is stored behind them.
  write_hold(live.hold[held], lock, seen, static_cast<std::uint32_t>(mode), caller);
  live.held.store(held + 1, release);  // pairs with the look of another process
}

// The same for a lock that the thread took lately and has now, with nothing to time. `key` is the
// lock's, which `recent` had before the acquisition: signal handlers may have run since, and may
// even have forked. Returns false if there is more to do. A signal handler may do the same in the
// midst of this: then it ends what it begins, and leaves in the unfinished hold what is its own. If
// it took a lock with the same place in `recent`, this acquisition counts as one of that lock.
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
  live.held.store(held + 1, release);  // pairs with the look of another process
  if (h.address.load(relaxed) != address) [[unlikely]]
    rewrite_hold(h, address, recent.object, tally.plain_hold, caller);
  return true;
}

// Ends the thread's last hold, if that is all there is to do: it is of this lock, is not timed, and
// nobody waits for it. Most holds are such. In a forked child no object has an address.
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
  bool inner = false;         // it holds the lock further
  bool sampled = false;
  bool waited = false;  // for another lock
  std::uint64_t since = 0;
  bool is_split = false;
};

inline EndedHold end_hold(Thread& t, const void* lock) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(lock);
  Live& live = *t.live;
  // relaxed, all: this thread's own; another process that looks on looks twice.
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

// --- releases that have waiters

// Before the release: says when and by whom. After it: finds out where.
Release& announce_release(Thread& t, Object& o, Mode mode, std::uint64_t now, const void* caller,
                          bool has_waited = false, std::uint64_t kept_since = 0) noexcept;
// The same for the release of a lock, at the end of its hold.
Release& announce_end(Thread& t, Object& o, const EndedHold& hold, std::uint64_t now,
                      const void* caller) noexcept;
void locate_release(Thread& t, const Object& o, Release& r, const void* caller) noexcept;
// The same for a signal. The thread may hold the mutex, so it unwinds no more than a waiter does.
void locate_signal(Thread& t, Release& r, const void* caller, std::uint64_t now) noexcept;

// --- waits

// Ends the waits that are noted in the thread's Live, but whose calls it has left; frame: of a call
// that it makes now.
void look_for_left(Thread& t, const void* frame) noexcept;
// Before a wait is noted there; mark: in the frame of its call.
void enter_wait(Thread& t, const CallMark& mark) noexcept;
// The thread has left its waits from the n-th on without coming back.
void leave_waits(Thread& t, std::uint32_t n) noexcept;

// A thread that has to wait, or may have to.
struct Wait {
  std::uint64_t begin;
  Ref release;  // the last one before, of those that may end such a wait
  std::uint32_t stack;
};
// `expected`: a look at the lock said so. Else no stack is unwound for it.
Wait begin_wait(Thread& t, const Seen& seen, const void* lock, Mode mode, const void* caller,
                bool expected, bool has_deadline, const CallMark& mark) noexcept;
void stop_waiting(Thread& t, Object& o) noexcept;
// Returns whether a thread has waited that was not expected to: a release has found it among the
// waiters. A watched object is left alone after some acquisitions without a wait.
bool has_waited(Object& o, const Wait& wait, Mode mode) noexcept;
// Readers keep no reader waiting.
inline Ref last_release(const Object& o, Mode mode) noexcept {
  return (mode == Mode::shared ? o.by_writer : o.release).load(relaxed);  // relaxed: to be compared
}
inline void watch(Object& o) noexcept {
  // relaxed, both: what is not watched is counted, if a look finds it.
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
// In ticks: when it waited.
void note_wait(Tally& tally, std::uint64_t begin, std::uint64_t end) noexcept;
// When it has the lock.
void count_wait(Thread& t, const Seen& seen, const Wait& wait, Mode mode, std::uint64_t end,
                const void* caller) noexcept;

// Charges it to the release that ended it; puts it off if the releasing thread still finds out
// where it is.
void charge_wait(Thread& t, const Pending& p) noexcept;
// When that release was, in ticks; 0: it is not known.
std::uint64_t ended_at(const Pending& p) noexcept;

// Charges what the thread has put off because the holder was still finding out where it is. now:
// also if that is not over.
void charge_pending(Thread& t, bool now) noexcept;

}  // namespace lockswap::profile
