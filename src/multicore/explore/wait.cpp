// Waiting, sleeping, and time.
#include <algorithm>
#include <ctime>
#include <limits>

#include "multicore/explore/machine.h"

namespace lockswap::explore {
namespace {
const Deadline kSomeTime{CLOCK_MONOTONIC, {}};
const Deadline kNever{CLOCK_MONOTONIC, {std::numeric_limits<time_t>::max(), 0}};

const Deadline kIdle{CLOCK_MONOTONIC, {std::numeric_limits<time_t>::max() - 1, 0}};

bool is_idle(const Deadline* d) { return d != nullptr && d->at.tv_sec == kIdle.at.tv_sec; }
bool may_pass(const Deadline* d) {
  return d != nullptr && d->at.tv_sec != kNever.at.tv_sec && !is_idle(d);
}

// What an operation returns besides values of atomics.
enum Result : std::uint64_t {
  kDeadlineOver = 21,
  kPatienceOver,
  kNotYet,
  kOwnValue,
  kChanged,
  kWoken,
  kWaitedLongEnough,
  kStrayWake
};
}  // namespace

// The thread's deadline passes now, which may cost budget.
bool Machine::time_out() {
  Thread& t = me();
  if (!t.expired) {
    --left_.timeouts;
    t.expired = true;
    patience_rounds_ = 0;  // as in let_time_pass
  }
  note("its deadline is over");
  adds(kDeadlineOver);
  return true;
}

void Machine::begins_to_wait(const Deadline* deadline) {
  Thread& t = me();
  t.timed = may_pass(deadline);
  t.patient = deadline != nullptr && deadline->patience != 0;
  t.impatient = false;
}
bool Machine::may_time_out(const Thread& t) const {
  return t.timed && (t.expired || left_.timeouts > 0);
}
bool Machine::may_lose_patience(const Thread& t) const {
  return t.patient && (t.impatient || (patience_is_short && left_.timeouts > 0));
}
void Machine::lose_patience() {
  if (!me().impatient) {
    --left_.timeouts;
    me().patience_over = ++moments_;
  }
  note("its patience is over");
  adds(kPatienceOver);
}

bool Machine::await(const Condition& c, Order declared, const Deadline* deadline,
                    const Site& site) {
  Thread& t = me();
  const Order order = order_of(Op::await, declared, site);
  t.at = site;
  t.condition = c;
  t.order = order;
  begins_to_wait(deadline);
  for (;;) {
    t.wait = Thread::Wait::await;
    point();
    t.wait = Thread::Wait::none;
    if (memory_.poisoned(c.location)) {
      fail("wait on an object that is gone, at %s:%u", file_of(site), site.line());
    }
    flush_delayed_stores(c.location);
    // A delayed store may have ended the wait.
    if (model != MemoryModel::tso || alone() || c(newest_for(current_, c.location))) break;
    if (may_time_out(t) || may_lose_patience(t)) break;
  }
  const std::uint64_t* own = memory_.forwarded(current_, c.location);
  if (own != nullptr && c(*own)) {
    adds(kOwnValue);
    return true;
  }

  // The writes that end the wait, the newest first, and then the time-outs.
  const int newest = memory_.newest(c.location);
  int options[kMostWrites + 3];
  int n = 0;
  for (int i = newest; i >= memory_.oldest_readable(current_, c.location, order); --i) {
    if (own != nullptr) break;  // it does not see past this one
    if ((i == newest || left_.stale > 0) && c(memory_.value(c.location, i))) options[n++] = i;
  }
  constexpr int kTimeOut = -1;
  constexpr int kImpatience = -2;
  if (may_time_out(t)) options[n++] = kTimeOut;
  if (may_lose_patience(t)) options[n++] = kImpatience;
  if (n == 0) fail("deadlock: main would wait for ever at %s:%u", file_of(site), site.line());
  const int index = options[search.choose(n)];
  if (index < 0) {
    if (index == kTimeOut) time_out();
    if (index == kImpatience) lose_patience();
    return c(load(c.location, declared, site));
  }
  if (index != newest) --left_.stale;
  memory_.read(current_, c.location, index, order);
  returns(memory_.value(c.location, index));
  if (is_traced())
    trace_access(Op::await, c.location, order, site, "-> %#lx%s", memory_.value(c.location, index),
                 index != newest ? " (stale)" : "");
  return true;
}

// A futex. The kernel compares and goes to sleep after full barriers, and the waker also has one
// before it looks for sleepers. So the comparison may read an old value, but none older than what a
// wake on this word has seen. Neither side synchronises the threads.
Parked Machine::park(int location, std::uint32_t low_half, std::uint32_t channels,
                     const Deadline* deadline, std::uint32_t priority, const Site& site) {
  Thread& t = me();
  t.at = site;
  fail_without_channel(channels, site);
  point();
  if (memory_.poisoned(location)) {
    fail("sleep on an object that is gone, at %s:%u", file_of(site), site.line());
  }
  drain(current_);
  flush_delayed_stores(location);
  memory_.sleeper_sees(current_, location);
  const int index = choose_write(location, relaxed);
  memory_.sleeper_reads(current_, location, index);
  if (static_cast<std::uint32_t>(memory_.value(location, index)) != low_half) {
    if (is_traced()) note("does not sleep: %s has changed", atom_name(location).c_str());
    came_back(memory_.address_of(location));
    returns(kChanged);
    return Parked::changed;
  }
  if (is_traced()) {
    note("sleeps on %s, channels %#x%s", atom_name(location).c_str(), channels,
         may_pass(deadline) ? ", timed" : "");
  }
  if (alone()) fail("deadlock: main would sleep for ever at %s:%u", file_of(site), site.line());
  t.address = memory_.address_of(location);
  t.channels = channels;
  t.priority = priority;
  begins_to_wait(deadline);
  t.idle = is_idle(deadline);
  t.woken = false;
  t.asleep_since = ++sleeps_;
  t.sleeps.note(t.address, t.asleep_since);
  t.wait = Thread::Wait::parked;
  let_others();
  t.wait = Thread::Wait::none;
  came_back(t.address);
  const bool idle_over = t.idle_over;
  t.idle = t.idle_over = false;
  if (t.woken) {
    adds(kWoken);
    returns(kWoken);
    return Parked::woken;
  }
  t.lost_place = true;
  if (idle_over) {
    note("has waited for long enough");
    adds(kWaitedLongEnough);
    returns(kWaitedLongEnough);
    return Parked::timed_out;
  }
  enum class By : std::uint8_t { time, impatience, chance };
  By options[3] = {};
  int n = 0;
  if (may_time_out(t)) options[n++] = By::time;
  if (may_lose_patience(t)) options[n++] = By::impatience;
  if (left_.spurious > 0) options[n++] = By::chance;
  const By by = options[n > 1 ? search.choose(n) : 0];
  if (by != By::chance) {
    if (by == By::time) time_out();
    if (by == By::impatience) lose_patience();
    returns(kDeadlineOver);
    return Parked::timed_out;
  }
  --left_.spurious;
  note("wakes up for no reason");
  adds(kStrayWake);
  returns(kWoken);
  return Parked::woken;
}

// The kernel refuses it: nobody sleeps, nobody is woken.
void Machine::fail_without_channel(std::uint32_t channels, const Site& site) {
  if (channels == 0) fail("a futex call without a channel, at %s:%u", file_of(site), site.line());
}

std::uint32_t Machine::unpark(const void* address, std::uint32_t channels, const Site& site,
                              bool one) {
  fail_without_channel(channels, site);
  point();
  drain(current_);
  const int location = memory_.find(address);
  if (location != Memory::kFull) memory_.wake_sees(current_, location);
  std::uint32_t woken = 0;
  const auto sleeps = [&](const Thread& t) {
    return t.wait == Thread::Wait::parked && t.address == address && (t.channels & channels) != 0;
  };
  int only = -1;
  if (one) {
    // The kernel does not find a sleeper that was woken already. As there, the sleeper with the
    // highest real-time priority when it fell asleep comes first.
    int asleep[kMaxThreads];
    int n = 0;
    for (int i = 0; i < count_; ++i) {
      const Thread& t = threads_[i];
      if (!sleeps(t) || t.woken) continue;
      if (n != 0 && t.priority > threads_[asleep[0]].priority) n = 0;
      if (n == 0 || t.priority == threads_[asleep[0]].priority) asleep[n++] = i;
    }
    if (wakes_in_order && n > 1) {
      asleep[0] = *std::min_element(asleep, asleep + n, [this](int a, int b) {
        return threads_[a].asleep_since < threads_[b].asleep_since;
      });
      n = 1;
    }
    if (n != 0) only = asleep[n > 1 ? search.choose(n) : 0];
    if (wakes_one_at_a_time && n != 0) wakes_one(address);
  }
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (sleeps(t) && (!one || i == only)) {
      if (!t.woken) ++woken;
      t.woken = true;
    }
  }
  if (is_traced()) {
    note("wakes channels %#x of %s", channels,
         location != Memory::kFull ? atom_name(location).c_str() : "what nobody has touched");
  }
  adds(mix(woken, static_cast<std::uint64_t>(only)));
  returns(woken);
  return woken;
}

Machine::Wakes& Machine::wakes_of(const void* address) {
  for (Wakes& w : wakes_) {
    if (w.address == nullptr) w.address = address;
    if (w.address == address) return w;
  }
  fail("too many words that threads sleep on");
}
void Machine::came_back(const void* address) {
  if (wakes_one_at_a_time) ++wakes_of(address).back;
}
void Machine::wakes_one(const void* address) {
  Wakes& w = wakes_of(address);
  if (++w.of_one > w.back + 1) fail("two wake-ups are under way");
}

void Machine::handed_off(const void* lock) {
  for (HandOff& h : hand_offs_) {
    if (h.lock != nullptr && h.lock != lock) continue;
    if (h.lock == lock && me().patience_over < h.moment) {
      fail("a second hand-off, though the time since the last one is not over");
    }
    h = {lock, ++moments_};
    return;
  }
  fail("too many locks that ration hand-offs");
}

Machine::FirstSleeps Machine::first_sleeps(int thread, int other) const {
  const Thread& t = threads_[thread];
  const Thread& o = threads_[other];
  if (!asleep(other) || t.lost_place || o.lost_place) return {0, 0};
  return {t.sleeps.at(o.address), o.sleeps.at(o.address)};
}

void Machine::step_aside(const Site& site) {
  if (alone()) {
    if (++idle_rounds_ > kMostIdleRounds) {
      fail("deadlock: main goes round for ever at %s:%u", file_of(site), site.line());
    }
    return;
  }
  Thread& t = me();
  t.at = site;
  t.writes_seen = writes_;
  t.timed = false;
  t.wait = Thread::Wait::aside;
  point();
  t.wait = Thread::Wait::none;
}

bool Machine::passed(const Deadline& deadline) {
  if (!may_pass(&deadline)) return false;
  Thread& t = me();
  if (!t.expired && left_.timeouts > 0 && search.choose(2) == 1) time_out();
  adds(t.expired ? kDeadlineOver : kNotYet);
  returns(t.expired ? 1 : 0);
  return t.expired;
}

const Deadline* Machine::deadline(When when) {
  if (when != When::idle) me().expired = when == When::over;
  return when == When::idle ? &kIdle : when == When::far ? &kNever : &kSomeTime;
}

}  // namespace lockswap::explore
