#include "metrics/counters.h"

#include <algorithm>
#include <cerrno>

#include "metrics/file.h"
#include "platform/ticks.h"

namespace lockswap::metrics {
namespace {

constexpr std::uint64_t kBetweenNs = 20'000;
constexpr std::uint64_t kMostWeight = 1024;  // on average
constexpr std::int32_t kNever = 1 << 30;
// Used if nothing else shows whether a thread has waited: some slow stages don't wait, and the
// state of our locks doesn't show waiting readers.
constexpr std::uint64_t kWaitInStageNs = 1'000, kUnseenWaitNs = 5'000;
constexpr std::uint64_t kLostNs = 10'000'000'000;

struct Me {
  std::uint32_t process;  // World::number when the thread last counted
  std::uint32_t random;
  std::uint32_t distance;  // the drawn one
  bool is_busy;            // a signal handler that finds it true does nothing
  std::uint64_t last;      // ticks: the last sample
  std::uint64_t reported;  // ticks: the end of the last slow stage
};

constinit bool counts_holds = false;

// The thread is in its bookkeeping while one of these exists.
class Entry {
 public:
  Entry() noexcept : me(per_thread<Me>), mine_(!me.is_busy) {
    if (!mine_) return;
    me.is_busy = true;
    signal_fence();
    World& w = world();
    if (!w.is_ready()) {
      w.begin([&w](std::uint32_t number) noexcept { w.records = number == 1 || reopen_file(); });
    }
    if (me.process != w.number) begin_process(w.number);
    counts_ = w.records;
    if (!counts_) per_thread<Countdown>.left = kNever;
  }
  ~Entry() {
    if (!mine_) return;
    signal_fence();
    me.is_busy = false;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  bool counts() const noexcept { return counts_; }

  Me& me;

 private:
  void begin_process(std::uint32_t number) noexcept {
    const auto seed = static_cast<std::uint32_t>(thread_identity() >> 6) * 0x9e3779b9u;
    me = {.process = number,
          .random = seed | 1,
          .distance = 0,
          .is_busy = true,
          .last = 0,
          .reported = 0};
    per_thread<Held> = {};
  }

  bool mine_;
  bool counts_ = false;
};

std::uint32_t draw(Me& me, std::uint32_t below) noexcept {
  std::uint32_t x = me.random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  me.random = x;
  return static_cast<std::uint32_t>((std::uint64_t{x} * below) >> 32);
}

// `weight` acquisitions have taken as long as it has been since the last sample.
void draw_distance(Me& me, std::uint32_t weight, std::uint64_t now) noexcept {
  const std::uint64_t passed = me.last == 0 ? kBetweenNs : Ticks::ns_between(me.last, now);
  const std::uint64_t mean = std::clamp<std::uint64_t>(
      kBetweenNs * weight / std::max<std::uint64_t>(passed, 1), 1, kMostWeight);
  me.last = now;
  me.distance = draw(me, static_cast<std::uint32_t>(mean) * 2 - 1);
  per_thread<Countdown>.left = static_cast<std::int32_t>(me.distance);
}

Counts& counts_of(std::uint32_t series, Mode mode) noexcept {
  return record().series[series].counts[static_cast<std::uint32_t>(mode)];
}

bool is_acquired(int error) noexcept { return error == 0 || error == EOWNERDEAD; }

bool has_waited(const Me& me, Outcome o, std::uint64_t ns) noexcept {
  if (me.reported >= o.begin || !(is_acquired(o.error) || o.error == ETIMEDOUT)) return false;
  return o.found == Look::taken || (o.found == Look::unknown && ns >= kUnseenWaitNs);
}

// relaxed, here and below: counts.
void count(Word& word, std::uint64_t times) noexcept { word.fetch_add(times, relaxed); }

void count_wait(const Me& me, Counts& counts, Outcome o, std::uint64_t now,
                std::uint32_t times) noexcept {
  const std::uint64_t ns = Ticks::ns_between(o.begin, now);
  if (has_waited(me, o, ns)) counts.wait.add(ns, times);
  if (o.error == ETIMEDOUT) count(counts.timeouts, times);
}

// The number of the lock's series, and whether it had one before.
struct Found {
  std::uint32_t series;
  bool is_new;
};
Found find_series(const void* lock, Kind kind, const void* caller) noexcept {
  Object* const object = find_object(lock, true);
  if (object == nullptr) return {0, false};
  const std::uint32_t series = series_in(*object);
  return series != kUndecided ? Found{series, false}
                              : Found{decide(*object, lock, kind, caller), true};
}

void begin_hold(const void* lock, Mode mode, Sample sample, std::uint64_t now) noexcept {
  Held& held = per_thread<Held>;
  // Another thread may have released a lock in place of this one.
  const bool is_free = held.lock == nullptr || Ticks::ns_between(held.since, now) > kLostNs;
  if (!counts_holds || !is_free) return;
  held = {lock, now, sample.series, sample.weight, mode};
}

}  // namespace

Sample begin_sample(const void* lock, Asked asked, const void* caller) noexcept {
  const Entry entry;
  if (!entry.counts()) return {};
  Me& me = entry.me;
  const std::uint32_t weight = me.distance + 1;
  const Found found = find_series(lock, asked.kind, caller);
  if (!found.is_new) return {found.series, weight, me.process};
  if (asked.may_fail) {  // it may fail, so the next acquisition is sampled instead
    me.distance = weight;
    per_thread<Countdown>.left = 0;
  } else {
    count(counts_of(found.series, asked.mode).acquisitions, weight);
    draw_distance(me, weight, Ticks::now());
  }
  return {};
}

void end_sample(const void* lock, Asked asked, Sample sample, Outcome outcome) noexcept {
  const std::uint64_t now = Ticks::now();
  const Entry entry;
  // A signal handler may have forked meanwhile.
  if (!entry.counts() || entry.me.process != sample.process) return;
  Counts& counts = counts_of(sample.series, asked.mode);
  if (is_acquired(outcome.error)) {
    count(counts.acquisitions, sample.weight);
    begin_hold(lock, asked.mode, sample, now);
  }
  if (outcome.error == EBUSY) count(counts.failed_tries, sample.weight);
  count_wait(entry.me, counts, outcome, now, asked.sees_waits ? 1 : sample.weight);
  draw_distance(entry.me, sample.weight, now);
}

Sample begin_wait(const void* lock, Asked asked, const void* caller) noexcept {
  const Entry entry;
  if (!entry.counts()) return {};
  const Found found = find_series(lock, asked.kind, caller);
  return found.is_new ? Sample{} : Sample{found.series, 1, entry.me.process};
}

void end_wait(Asked asked, Sample sample, Outcome outcome) noexcept {
  const std::uint64_t now = Ticks::now();
  const Entry entry;
  if (!entry.counts() || entry.me.process != sample.process) return;
  count_wait(entry.me, counts_of(sample.series, asked.mode), outcome, now, 1);
}

void count_stage(const Stage& stage) noexcept {
  per_thread<Me>.reported = stage.end;
  const std::uint64_t ns = Ticks::ns_between(stage.begin, stage.end);
  if (ns < kWaitInStageNs) return;
  const Entry entry;
  if (!entry.counts()) return;
  const Found found = find_series(stage.lock, stage.kind, stage.caller);
  counts_of(found.series, stage.mode).wait.add(ns, 1);
}

void begin_lock(const void* lock, Kind kind, const void* caller) noexcept {
  const Entry entry;
  if (!entry.counts()) return;
  Object* const object = find_object(lock, true);
  if (object != nullptr) decide(*object, lock, kind, caller);
}

void end_lock(const void* lock) noexcept {
  const Entry entry;
  if (entry.counts()) forget(lock);
}

void end_hold() noexcept {
  Held& held = per_thread<Held>;
  const Entry entry;
  if (entry.counts() && held.lock != nullptr) {
    const std::uint64_t ns = Ticks::ns_between(held.since, Ticks::now());
    counts_of(held.series, held.mode).hold.add(ns, held.weight);
  }
  held.lock = nullptr;
}

void drop_hold() noexcept { per_thread<Held>.lock = nullptr; }

void prepare_counters(bool with_holds) noexcept { counts_holds = with_holds; }

void forget_thread() noexcept {
  per_thread<Me>.process = 0;
  per_thread<Countdown>.left = 0;
}

}  // namespace lockswap::metrics
