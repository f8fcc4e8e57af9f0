#include "profile/waits.h"

#include <algorithm>

#include "platform/clock.h"
#include "profile/stacks.h"
#include "profile/timeline.h"

namespace lockswap::profile {
namespace {

// The next waiter of a lock is expected to wait long if this many waits were long.
constexpr std::uint32_t kMostExpected = 8;
// The same for sampled holds.
constexpr std::uint64_t kMostHoldsExpected = 8;

constexpr Ref ref_to(const Thread& t, std::uint64_t number) noexcept {
  return std::uint64_t{t.place} << kRefShift | (number & ((std::uint64_t{1} << kRefShift) - 1));
}

// A release as its thread left it. look_up returns false if the thread has made others since.
struct Found {
  std::uint64_t at = 0;
  std::uint64_t kept_since = 0;
  const void* caller = nullptr;
  std::uint32_t stack = 0;
  Mode mode = Mode::unknown;
  std::uint32_t tid = 0;
  Cause cause;
};
bool look_up(Ref ref, Found& found) noexcept {
  const std::uint64_t number = ref & ((std::uint64_t{1} << kRefShift) - 1);
  const Thread* const t = world().thread[ref >> kRefShift].load(acquire);
  if (number == 0 || t == nullptr) return false;
  const Release& r = t->release[number % kReleases];
  // acquire, all: each pairs with the release store of its value in announce_release or
  // locate_release, so that a newer value comes with the newer number, which the second load of the
  // number finds.
  if (r.number.load(acquire) != number) return false;
  found.at = r.at.load(acquire);
  found.kept_since = r.kept_since.load(acquire);
  found.caller = reinterpret_cast<const void*>(r.caller.load(acquire));
  found.stack = r.stack.load(acquire);
  found.mode = static_cast<Mode>(r.mode.load(acquire));
  found.tid = r.tid.load(acquire);
  found.cause = {r.cause.load(acquire), r.cause_begin.load(acquire), r.cause_end.load(acquire)};
  return r.number.load(relaxed) == number;
}

NativeAtomic<std::uint64_t>& long_release_of(const Object& o) noexcept {
  return world().long_release[&o - world().objects];
}

std::uint64_t hash_of(const Pending& p, const Found& f) noexcept {
  std::uint64_t h = p.class_number;
  for (const std::uint64_t part : {std::uint64_t{p.stack}, std::uint64_t{f.stack},
                                   std::uint64_t(p.mode) << 2 | std::uint64_t(f.mode)}) {
    h = (h ^ part) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h == 0 ? 1 : h;
}

Pair* pair_for(const Pending& p, const Found& f) noexcept {
  const std::uint64_t key = hash_of(p, f);
  constexpr std::uint32_t kMostSteps = 64;
  for (std::uint32_t i = 0; i < kMostSteps; ++i) {
    Pair& pair = record().pair[(key + i) % kPairSlots];
    std::uint64_t there = pair.key.load(relaxed);  // relaxed: `ready` hands the rest on
    if (there == 0 && pair.key.compare_exchange(there, key, relaxed)) {
      pair.class_number = p.class_number;
      pair.waiter = p.stack;
      pair.holder = f.stack;
      pair.waiter_mode = p.mode;
      pair.holder_mode = f.mode;
      pair.ready.store(1, release);  // for a reader of the file, which may be running
      return &pair;
    }
    if (there == key) return &pair;
  }
  return nullptr;
}

// relaxed, all: counts; the key identifies the chain.
void chain(std::uint32_t pair, const Cause& cause, const Pending& p, std::uint64_t at) noexcept {
  const std::uint64_t begin = std::max(p.begin, cause.begin);
  const std::uint64_t end = std::min({p.end, cause.end, at});
  if (end <= begin) return;
  const std::uint64_t key = std::uint64_t{pair} << 32 | cause.pair;
  constexpr std::uint32_t kMostSteps = 64;
  for (std::uint32_t i = 0; i < kMostSteps; ++i) {
    Chain& c = record().chain[((key * 0x9e3779b97f4a7c15u >> 40) + i) % kChainSlots];
    std::uint64_t there = c.key.load(relaxed);
    if (there == key || (there == 0 && c.key.compare_exchange(there, key, relaxed)) ||
        there == key) {
      c.ns.fetch_add(Ticks::ns_between(begin, end), relaxed);
      return;
    }
  }
  record().dropped.chains.fetch_add(1, relaxed);
}

// Returns what is at an offset, allocating it on first use, or nullptr if there is no room. Readers
// of the file follow the offset too (read_main.cpp).
template <class T>
T* made_at(Offset& place) noexcept {
  std::uint32_t at = place.load(acquire);
  if (at == 0 && !is_full()) {
    world().guard.lock();
    at = place.load(relaxed);                                       // relaxed: under the guard
    if (at == 0) place.store(at = take_bytes(sizeof(T)), release);  // pairs with the load above
    world().guard.unlock();
  }
  return at == 0 ? nullptr : at_offset<T>(at);
}

// The release stores keep an entry's fields between the zeroes in `number` and `again` and the new
// numbers there. This pairs with the copy of the file that read_main.cpp makes.
void keep_wait(const Thread& t, const Pending& p, const Found& f, std::uint32_t pair) noexcept {
  using History = WaitHistory;
  auto* const history = made_at<History>(record().history);
  if (history == nullptr) return;
  const std::uint64_t number = history->count.fetch_add(1, relaxed);  // relaxed: only a number
  auto* const block =
      made_at<History::Block>(history->block[number / History::kBlock % History::kBlocks]);
  if (block == nullptr) return;
  const auto ns = [](std::uint64_t ticks) noexcept {
    return ticks == 0 ? 0 : Ticks::ns_between(record().started_ticks, ticks);
  };
  History::Entry& e = block->entry[number % History::kBlock];
  e.again.store(0, relaxed);  // relaxed, both: the stores after them release them
  e.number.store(0, relaxed);
  e.begin_ns.store(ns(p.begin), release);
  e.end_ns.store(ns(p.end), release);
  e.kept_since_ns.store(ns(f.kept_since), release);
  e.released_ns.store(ns(f.at), release);
  e.pair.store(pair, release);
  e.tid.store(t.live->tid.load(relaxed), release);  // relaxed load: only this thread writes it
  e.holder_tid.store(f.tid, release);
  e.number.store(number + 1, release);
  e.again.store(static_cast<std::uint32_t>(number + 1), release);
}

// relaxed, all: counts.
void charge(Thread& t, const Pending& p, const Found& f) noexcept {
  const std::uint64_t ns = Ticks::ns_between(p.begin, p.end);
  record().last_ns.store(monotonic_ns(), relaxed);
  Pair* const pair = pair_for(p, f);
  if (pair == nullptr) {
    record().dropped.pairs.fetch_add(1, relaxed);
    record().dropped.pairs_ns.fetch_add(ns, relaxed);
    return;
  }
  pair->waits.fetch_add(1, relaxed);
  pair->wait_ns.fetch_add(ns, relaxed);
  // After a long hold others held the lock, too. The time after the last of these is the
  // scheduler's.
  if (const std::uint64_t until = max_of(f.at, p.until); f.at != 0) {
    pair->until_release_ns.fetch_add(std::min(ns, Ticks::ns_between(p.begin, until)), relaxed);
  }
  std::uint64_t most = pair->most_ns.load(relaxed);
  while (most < ns && !pair->most_ns.compare_exchange(most, ns, relaxed)) {}
  const auto index = static_cast<std::uint32_t>(pair - record().pair);
  keep_wait(t, p, f, index);
  const std::uint32_t number = index + 1;
  if (f.cause.pair != 0) chain(number, f.cause, p, f.at);
  if (p.holding && p.end - p.begin > t.cause.end - t.cause.begin)
    t.cause = {number, p.begin, p.end};
}

// Returns whether the release happened during the wait. Otherwise it ended an earlier hold: the
// lock's last holder did not see the waiter, or released the lock within another call.
bool ended(const Pending& p, const Found& f) noexcept {
  constexpr std::uint64_t kSkewNs = 1'000;  // between the processors' counters
  return Ticks::ns_between(f.at, p.begin) <= kSkewNs && Ticks::ns_between(p.end, f.at) <= kSkewNs;
}

// Finds the release that ended the wait. Readers keep no reader waiting: one that is slow to wake
// up finds the releases of those that got in with it, but the writer before them ended its wait. If
// there is no such writer, it is the last release: the reader waited behind a writer that then gave
// up. Threads that got in one after the other after a long hold were kept waiting by that hold, and
// not by each other.
void find_release(Pending& p) noexcept {
  const auto ended_by = [&p](Ref release) noexcept {
    Pending other = p;
    other.release = release;
    return ended_at(other);
  };
  p.release = p.object->release.load(acquire);                   // pairs with announce_release
  const Ref by_long = long_release_of(*p.object).load(acquire);  // pairs with announce_end
  const std::uint64_t at = ended_by(by_long);
  if (at != 0 && 2 * Ticks::ns_between(p.begin, at) > Ticks::ns_between(p.begin, p.end)) {
    if (p.mode != Mode::shared) p.until = ended_by(p.release);
    p.release = by_long;
  } else if (p.mode == Mode::shared) {
    const Ref by_writer = p.object->by_writer.load(acquire);  // pairs with announce_release
    if (ended_by(by_writer) != 0) p.release = by_writer;
  }
}

}  // namespace

void begin_timed_hold(Thread& t, const void* lock, const Seen& seen, Mode mode, bool sampled,
                      const void* caller) noexcept {
  Live& live = *t.live;
  const std::uint32_t held = live.held.load(relaxed);  // relaxed: only this thread writes it
  const std::uint64_t since = Ticks::now();
  std::uint32_t how = static_cast<std::uint32_t>(mode) | Hold::kTimed;
  if (sampled) {
    ModeTally& m = seen.tally->mode[static_cast<std::uint32_t>(mode)];
    // 1 to 2 * period - 1, so that no regularity in the program hides a hold.
    t.random = t.random * 1664525u + 1013904223u;
    m.next_drawn = m.acquisitions + 1 + (t.random >> 16) % (2 * hold_period(m.acquisitions) - 1);
    how |= Hold::kSampled;
    if (m.long_expected != 0 && begin_split(t, lock, since)) how |= Hold::kSplit;
  }
  Hold& h = live.hold[held];
  h.since.store(since, relaxed);  // relaxed: as the others
  write_hold(h, lock, seen, how, caller);
  live.held.store(held + 1, release);  // pairs with the load in another process
}

void rewrite_hold(Hold& h, std::uint64_t address, Object* object, std::uint64_t what,
                  const void* caller) noexcept {
  // relaxed, all: only this thread writes it now, and another process reads twice.
  h.address.store(address, relaxed);
  h.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
  h.what.store(what, relaxed);
  h.object.store(reinterpret_cast<std::uint64_t>(object), relaxed);
}

bool begin_split(Thread& t, const void* lock, std::uint64_t since) noexcept {
  // A hold that never ended here, for example because another thread released it, must not stay.
  if (t.split.address != 0 && holds_locks(t)) return false;
  t.split = {reinterpret_cast<std::uint64_t>(lock), since, thread_cpu_ns()};
  return true;
}

void end_split(Thread& t, ModeTally& m, const void* lock, std::uint64_t since, bool is_split,
               std::uint64_t ns) noexcept {
  const bool is_known = is_split && t.split.since == since &&
                        t.split.address == reinterpret_cast<std::uint64_t>(lock);
  const std::uint64_t before = t.split.cpu_ns;
  if (is_known) t.split.address = 0;
  if (ns < kThresholdNs) {
    --m.long_expected;
    return;
  }
  m.long_expected = kMostHoldsExpected;
  if (!is_known) return;
  ++m.split_holds;
  m.split_ns += ns;
  // The two clocks may differ slightly.
  m.on_processor_ns += std::min(ns, thread_cpu_ns() - before);
}

Release& announce_release(Thread& t, Object& o, Mode mode, std::uint64_t now, const void* caller,
                          bool has_waited, std::uint64_t kept_since) noexcept {
  const std::uint64_t number = ++t.releases;
  Release& r = t.release[number % kReleases];
  r.number.store(0, relaxed);  // relaxed: the store after it releases it
  r.at.store(now, release);
  r.kept_since.store(kept_since, release);
  r.caller.store(reinterpret_cast<std::uint64_t>(caller), release);
  r.stack.store(kNotYet, release);
  r.mode.store(static_cast<std::uint32_t>(mode), release);
  r.tid.store(t.live->tid.load(relaxed), release);  // relaxed load: only this thread writes it
  r.cause.store(has_waited ? t.cause.pair : 0, release);
  r.cause_begin.store(t.cause.begin, release);
  r.cause_end.store(t.cause.end, release);
  if (!holds_locks(t)) t.cause = {};
  r.number.store(number, release);
  if (mode != Mode::shared) o.by_writer.store(ref_to(t, number), release);
  o.release.store(ref_to(t, number), release);  // both pair with find_release
  return r;
}

Release& announce_end(Thread& t, Object& o, const EndedHold& hold, std::uint64_t now,
                      const void* caller) noexcept {
  const std::uint64_t waited_since = o.waits_since.load(relaxed);  // relaxed: a guess
  std::uint64_t kept_since = max_of(waited_since, hold.since);
  // A hold that isn't timed counts from the end of the one before it, if threads have waited since
  // then.
  if (Found before; hold.since == 0 && look_up(o.release.load(acquire), before))
    kept_since = max_of(kept_since, before.at);
  Release& r = announce_release(t, o, hold.mode, now, caller, hold.waited, kept_since);
  const std::uint64_t ns = Ticks::ns_between(kept_since, now);
  // Readers let other readers in.
  if (hold.mode != Mode::shared && ns >= kThresholdNs &&
      2 * ns > Ticks::ns_between(waited_since, now))
    long_release_of(o).store(ref_to(t, t.releases), release);  // pairs with find_release
  return r;
}

void locate_release(Thread& t, const Object& o, Release& r, const void* caller) noexcept {
  // relaxed, both: a guess. One frame is enough for a short wait, and needs no unwinding.
  const bool whole =
      o.has_long_waits.load(relaxed) != 0 ||
      Ticks::ns_between(o.waits_since.load(relaxed), r.at.load(relaxed)) >= kThresholdNs / 2;
  const std::uint32_t stack = whole ? take_stack(t, caller) : stack_of(caller);
  // A wait of this thread could not be charged before the release, because the thread that it
  // waited for had not found out where it was. Nobody reads the cause until the stack is stored.
  if (t.pending.object != nullptr && t.pending.holding && r.cause.load(relaxed) == 0) {
    charge_pending(t, false);
    r.cause_begin.store(t.cause.begin, release);
    r.cause_end.store(t.cause.end, release);
    r.cause.store(t.cause.pair, release);
    if (!holds_locks(t)) t.cause = {};
  }
  r.stack.store(stack, release);
}

void locate_signal(Thread& t, Release& r, const void* caller, std::uint64_t now) noexcept {
  const std::uint32_t stack = take_stack(t, caller, now);
  r.stack.store(stack != 0 ? stack : stack_of(caller), release);
}

void leave_waits(Thread& t, std::uint32_t n) noexcept {
  Live& live = *t.live;
  const std::uint32_t known = std::min(live.waiting.load(relaxed), kMostWaits);
  for (std::uint32_t i = n; i < known; ++i) {
    Object* const o = find_object(live.wait[i].address.load(relaxed));
    // relaxed, both: a count.
    if (o != nullptr && (o->waiters.load(relaxed) & ~Object::kWoken) != 0)
      o->waiters.fetch_sub(1, relaxed);
  }
  live.leave_waits(n);
  t.in_wait[0] = nullptr;
}

void look_for_left(Thread& t, const void* frame) noexcept {
  const std::uint32_t now = t.live->waiting.load(relaxed);  // relaxed: only this thread writes it
  std::uint32_t n = now;
  while (n > t.live->first_wait() && n <= kMostWaits && t.in_wait[n - 1] != nullptr &&
         CallMark::was_left(t.in_wait[n - 1], frame))
    --n;
  if (n != now) leave_waits(t, n);
}

void enter_wait(Thread& t, const CallMark& mark) noexcept {
  look_for_left(t, &mark);
  const std::uint32_t n = t.live->waiting.load(relaxed);  // relaxed: only this thread writes it
  if (n < kMostWaits) t.in_wait[n] = &mark;
}

Wait begin_wait(Thread& t, const Seen& seen, const void* lock, Mode mode, const void* caller,
                bool expected, bool has_deadline, const CallMark& mark) noexcept {
  Object& o = *seen.object;
  enter_wait(t, mark);
  Wait w{Ticks::now(), last_release(o, mode), 0};
  // relaxed: a guess
  if (expected) w.stack = take_stack(t, caller, o.has_long_waits.load(relaxed) != 0 ? 0 : w.begin);
  t.live->begin_wait(lock, nullptr, w.begin, caller, w.stack, seen.number,
                     static_cast<std::uint32_t>(mode), has_deadline);
  // relaxed, both: a holder that does not see them yet releases soon.
  if ((o.waiters.fetch_add(1, relaxed) & ~Object::kWoken) == 0)
    o.waits_since.store(w.begin, relaxed);
  return w;
}

void stop_waiting(Thread& t, Object& o) noexcept {
  t.live->end_wait();
  o.waiters.fetch_sub(1, relaxed);
}

bool has_waited(Object& o, const Wait& wait, Mode mode) noexcept {
  // Watching costs each acquisition some 100 ns, partly in the hold. With 64 here, db_bench took
  // 1.07 times its processor time; with 16 it took no more than without, and as many waits were
  // found.
  constexpr std::uint32_t kMostQuiet = 16;
  // relaxed, all: a release that ended the wait came before this thread got the lock.
  if (last_release(o, mode) != wait.release) return true;
  if (!o.is_watched()) return false;
  const std::uint32_t quiet = o.quiet.load(relaxed) + 1;
  o.quiet.store(quiet, relaxed);
  if (quiet >= kMostQuiet) o.what.fetch_and(~Object::kWatched, relaxed);
  return false;
}

void note_wait(Tally& tally, std::uint64_t begin, std::uint64_t end) noexcept {
  // relaxed, all: only this thread writes it. A reader of the file may or may not find it.
  std::uint32_t at = tally.timeline.load(relaxed);
  if (at == 0) {
    if (is_full()) return;
    world().guard.lock();
    at = take_bytes(sizeof(Timeline));
    world().guard.unlock();
    if (at == 0) {
      record().dropped.timelines.fetch_add(1, relaxed);  // relaxed: a count
      return;
    }
    at_offset<Timeline>(at)->shift = Timeline::kFirstShift;
    tally.timeline.store(at, relaxed);
  }
  const std::uint64_t started = record().started_ticks;
  add_wait(*at_offset<Timeline>(at), Ticks::ns_between(started, begin),
           Ticks::ns_between(started, end));
}

void count_wait(Thread& t, const Seen& seen, const Wait& wait, Mode mode, std::uint64_t end,
                const void* caller) noexcept {
  Object& o = *seen.object;
  watch(o);
  const std::uint64_t ns = Ticks::ns_between(wait.begin, end);
  const std::uint32_t expected = o.has_long_waits.load(relaxed);  // relaxed, all: a guess
  if (seen.tally != nullptr) {
    count_contended(seen.tally->mode[static_cast<std::uint32_t>(mode)], ns);
    note_wait(*seen.tally, wait.begin, end);
  }
  if (ns < kThresholdNs) {
    if (expected != 0) o.has_long_waits.store(expected - 1, relaxed);
    return;
  }
  o.has_long_waits.store(kMostExpected, relaxed);
  const std::uint32_t stack = wait.stack != 0 ? wait.stack : take_stack(t, caller);
  Pending p{&o, 0, wait.begin, end, seen.number, stack, mode, holds_locks(t)};
  find_release(p);
  charge_wait(t, p);
}

std::uint64_t ended_at(const Pending& p) noexcept {
  Found f;
  return look_up(p.release, f) && ended(p, f) ? f.at : 0;
}

void charge_wait(Thread& t, const Pending& p) noexcept {
  charge_pending(t, true);
  Found f;
  if (!look_up(p.release, f) || !ended(p, f)) {
    charge(t, p, {});
  } else if (f.stack != kNotYet) {
    charge(t, p, f);
  } else {
    t.pending = p;
  }
}

void charge_pending(Thread& t, bool now) noexcept {
  if (t.pending.object == nullptr) return;
  Found f;
  if (!look_up(t.pending.release, f)) f = {};
  if (f.stack == kNotYet) {
    if (!now) return;
    // The thread may not have run since, so its first frame must do.
    f.stack = f.caller != nullptr ? stack_of(f.caller) : 0;
  }
  charge(t, t.pending, f);
  t.pending = {};
}

}  // namespace lockswap::profile
