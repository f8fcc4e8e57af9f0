#include "multicore/explore/machine.h"

#include <cstdio>

namespace lockswap::explore {

Machine machine;

namespace {
const Deadline kSomeTime{CLOCK_MONOTONIC, {}};

const char* file_of(const Site& s) {
  const char* slash = std::strrchr(s.file_name(), '/');
  return slash == nullptr ? s.file_name() : slash + 1;
}

std::string format(const char* f, va_list args) {
  char text[512];
  std::vsnprintf(text, sizeof text, f, args);
  return text;
}
}  // namespace

// --- an execution

bool Machine::run(const Scenario& scenario, const Bounds& bounds) {
  reset(scenario);
  left_ = bounds;
  run_alone(scenario.setup);
  if (failure_.empty()) {
    for (int i = 0; i < count_; ++i) {
      Thread& t = threads_[i];
      const std::uint8_t clock = t.view.now.clock(i);
      t.view.now = threads_[kMain].view.now;
      t.view.now.clock(i) = clock;
    }
    ++threads_[kMain].view.now.clock(kMain);
    // Whoever is first: a free choice.
    current_ = search.choose(count_);
    threads_[current_].fiber.enter_from(outside_);
  }
  if (failure_.empty()) {
    for (int i = 0; i < count_; ++i)
      threads_[kMain].view.now.join(threads_[i].view.now);
    run_alone(scenario.finish);
  }
  if (search.diverged() && failure_.empty()) {
    failure_ = "not deterministic: the same choices led elsewhere";
  }
  return failure_.empty();
}

void Machine::reset(const Scenario& scenario) {
  ++run_;
  scenario_ = &scenario;
  count_ = scenario.threads;
  memory_.reset();
  slept_on_.fill(0);
  search.begin_execution();
  steps_ = idle_rounds_ = 0;
  writes_ = 0;
  failure_.clear();
  for (int i = 0; i < kMaxThreads; ++i) {
    Thread& t = threads_[i];
    t.view = ThreadView{};
    t.view.now.clock(i) = 1;
    t.finished = t.expired = t.woken = t.timed = false;
    t.exit_hook = nullptr;
    t.caller = Caller{};
    t.wait = Thread::Wait::none;
    if (i < count_) t.fiber.reset(&thread_main);
  }
  for (auto hook : resets_)
    hook();
}

void Machine::run_alone(const std::function<void()>& part) {
  if (!part) return;
  current_ = kMain;
  part_ = &part;
  threads_[kMain].fiber.reset(+[] {
    (*machine.part_)();
    machine.end_execution();
  });
  threads_[kMain].fiber.enter_from(outside_);
}

void Machine::thread_main() {
  machine.scenario_->body(machine.current_);
  Thread& t = machine.me();
  if (t.exit_hook != nullptr) t.exit_hook();
  machine.note("ends");
  t.finished = true;
  machine.let_others();
  __builtin_unreachable();
}

void Machine::end_execution() {
  outside_.enter_from(me().fiber);
  __builtin_unreachable();
}

void Machine::fail(const char* f, ...) {
  va_list args;
  va_start(args, f);
  failure_ = format(f, args);
  va_end(args);
  note("FAILURE: %s", failure_.c_str());
  end_execution();
  __builtin_unreachable();
}

void Machine::note(const char* f, ...) {
  if (trace == nullptr) [[likely]]
    return;
  va_list args;
  va_start(args, f);
  char who[16];
  std::snprintf(who, sizeof who, alone() ? "main  " : "T%d    ", current_);
  trace->push_back(who + format(f, args));
  va_end(args);
}

// --- the schedule

void Machine::point() {
  if (alone()) return;
  if (++steps_ > kMostSteps) fail("livelock: more than %d steps", kMostSteps);
  let_others();
}

// Goes on with whichever thread is chosen; returns when the calling thread is.
void Machine::let_others() {
  const int next = next_thread();
  if (next == current_) return;
  Fiber& from = me().fiber;
  current_ = next;
  threads_[next].fiber.enter_from(from);
}

bool Machine::ready(const Thread& t) const {
  if (t.finished) return false;
  switch (t.wait) {
    case Thread::Wait::none:
      return true;
    case Thread::Wait::await:
      return t.condition(memory_.newest_value(t.condition.location)) || (t.timed && t.expired);
    case Thread::Wait::parked:
      return t.woken || (t.timed && t.expired);
    case Thread::Wait::aside:
      return writes_ != t.writes_seen;
  }
  return false;
}

bool Machine::lucky(const Thread& t) const {
  if (t.finished) return false;
  if (t.wait == Thread::Wait::parked) return wakes_by_chance(t);
  if (t.wait != Thread::Wait::await) return false;
  if (t.timed && left_.timeouts > 0) return true;
  if (left_.stale == 0) return false;
  const int at = t.condition.location;
  for (int i = memory_.newest(at); i-- > memory_.oldest_readable(at, t.view, t.order);) {
    if (t.condition(memory_.value(at, i))) return true;
  }
  return false;
}

int Machine::next_thread() {
  for (;;) {
    int options[kMaxThreads];
    int n = 0;
    bool somebody_ready = false;
    const bool i_am_ready = ready(me());
    if (i_am_ready) {
      options[n++] = current_;
      somebody_ready = true;
    }
    if (!i_am_ready || left_.preemptions > 0) {
      for (int i = 0; i < count_; ++i) {
        if (i == current_ && i_am_ready) continue;
        const bool can = ready(threads_[i]);
        somebody_ready |= can;
        if (can || lucky(threads_[i])) options[n++] = i;
      }
    }
    if (somebody_ready) {
      const int next = options[search.choose(n)];
      if (i_am_ready && next != current_) --left_.preemptions;
      return next;
    }
    bool all_finished = true;
    for (int i = 0; i < count_; ++i)
      all_finished &= threads_[i].finished;
    if (all_finished) end_execution();
    if (!let_time_pass()) fail("%s", stuck().c_str());
  }
}

// Nobody can go on for sure. True: deadlines pass, or a busy loop goes round once more.
bool Machine::let_time_pass() {
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.finished || t.wait != Thread::Wait::parked || !t.caller.set) continue;
    const Condition& c = t.caller.condition;
    if (c(memory_.newest_value(c.location))) {
      fail("lost wake-up: T%d sleeps at %s:%u, though what it waits for is so", i,
           file_of(t.caller.site), t.caller.site.line());
    }
  }
  bool changed = false;
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (t.finished) continue;
    if (!t.expired) {
      t.expired = true;
      changed |= t.timed && t.wait != Thread::Wait::none;
    }
  }
  if (changed) {
    note("time passes: all deadlines are over");
    return true;
  }
  if (++idle_rounds_ > kMostIdleRounds) return false;
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (!t.finished && t.wait == Thread::Wait::aside) {
      t.writes_seen = ~std::uint64_t{0};
      changed = true;
    }
  }
  return changed;
}

std::string Machine::stuck() const {
  std::string text = idle_rounds_ > kMostIdleRounds ? "livelock:" : "deadlock:";
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.finished) continue;
    text += " T" + std::to_string(i);
    text += t.wait == Thread::Wait::await    ? " waits"
            : t.wait == Thread::Wait::parked ? " sleeps"
                                             : " goes round";
    if (t.caller.set) {
      text +=
          std::string(" at ") + file_of(t.caller.site) + ':' + std::to_string(t.caller.site.line());
    }
  }
  return text;
}

// --- memory

int Machine::enroll(const void* address, std::size_t bytes, std::uint64_t initial) {
  const int location = memory_.enroll(address, bytes, initial);
  if (location == Memory::kFull) fail("too many atoms: raise kMaxLocations");
  return location;
}

const Site& Machine::site_of(Op op, const Site& site) {
  const bool of_caller = (op == Op::load || op == Op::await) && me().caller.set;
  return of_caller ? me().caller.site : site;
}

Order Machine::order_of(Op op, Order order, const Site& site) {
  if (sites != nullptr && order != relaxed) {
    const Site& s = site_of(op, site);
    bool known = false;
    for (const Mutation& m : *sites)
      known |= m.at(op, order, s);
    if (!known) {
      sites->push_back(Mutation{.name = "",
                                .file = file_of(s),
                                .function = s.function_name(),
                                .op = op,
                                .declared = order,
                                .kind = Mutation::weaken,
                                .line = s.line(),
                                .column = s.column()});
    }
  }
  return mutates(Mutation::weaken, op, order, site_of(op, site)) ? mutation->order : order;
}

Order Machine::begin_access(Op op, int location, Order order, const Site& site) {
  point();
  if (memory_.poisoned(location)) {
    fail("%s of an object that is gone, at %s:%u", name_of(op), file_of(site), site.line());
  }
  return order_of(op, order, site);
}

// One of the writes that the thread may read, the newest first.
int Machine::choose_write(int location, Order order) {
  const int newest = memory_.newest(location);
  if (left_.stale == 0) return newest;
  const int oldest = memory_.oldest_readable(location, me().view, order);
  const int back = search.choose(newest - oldest + 1);
  if (back != 0) --left_.stale;
  return newest - back;
}

std::uint64_t Machine::load(int location, Order order, const Site& site) {
  const Order declared = order;
  order = begin_access(Op::load, location, order, site);
  if (mutates(Mutation::force_value, Op::load, declared, site_of(Op::load, site))) {
    return mutation->value;
  }
  const int index = choose_write(location, order);
  memory_.read(me().view, location, index, order);
  const std::uint64_t v = memory_.value(location, index);
  if (trace != nullptr) {
    char what[64];
    std::snprintf(what, sizeof what, "-> %#llx%s", static_cast<unsigned long long>(v),
                  index != memory_.newest(location) ? " (stale)" : "");
    trace_access(Op::load, location, what, order, site);
  }
  return v;
}

void Machine::append(int location, std::uint64_t value, Order order, bool is_update) {
  if (!memory_.write(me().view, current_, location, value, order, is_update)) {
    fail("too many writes: the execution is too long for this machine");
  }
  ++writes_;
  idle_rounds_ = 0;
}

void Machine::store(int location, std::uint64_t value, Order order, const Site& site) {
  const Order declared = order;
  order = begin_access(Op::store, location, order, site);
  if (mutates(Mutation::drop, Op::store, declared, site)) return;
  append(location, value, order, false);
  if (trace != nullptr) {
    char what[64];
    std::snprintf(what, sizeof what, "= %#llx", static_cast<unsigned long long>(value));
    trace_access(Op::store, location, what, order, site);
  }
}

void Machine::finish_update(Op op, int location, std::uint64_t old, std::uint64_t value,
                            Order order, const Site& site) {
  memory_.read(me().view, location, memory_.newest(location), order);
  append(location, value, order, true);
  if (trace != nullptr) {
    char what[64];
    std::snprintf(what, sizeof what, "%#llx -> %#llx", static_cast<unsigned long long>(old),
                  static_cast<unsigned long long>(value));
    trace_access(op, location, what, order, site);
  }
}

// The strong form. A failed one is a relaxed load, and may be a stale one.
bool Machine::compare_exchange(int location, std::uint64_t& expected, std::uint64_t desired,
                               Order order, const Site& site) {
  order = begin_access(Op::compare_exchange, location, order, site);
  const int newest = memory_.newest(location);
  int options[kMostWrites + 1];
  int n = 0;
  options[n++] = newest;
  if (left_.stale > 0) {
    for (int i = newest; i-- > memory_.oldest_readable(location, me().view, relaxed);) {
      if (memory_.value(location, i) != expected) options[n++] = i;
    }
  }
  const int index = options[search.choose(n)];
  if (index != newest) --left_.stale;
  const std::uint64_t seen = memory_.value(location, index);
  if (seen == expected) {
    finish_update(Op::compare_exchange, location, seen, desired, order, site);
    return true;
  }
  memory_.read(me().view, location, index, relaxed);
  if (trace != nullptr) {
    char what[96];
    std::snprintf(what, sizeof what, "fails, expected %#llx, found %#llx%s",
                  static_cast<unsigned long long>(expected), static_cast<unsigned long long>(seen),
                  index != newest ? " (stale)" : "");
    trace_access(Op::compare_exchange, location, what, relaxed, site);
  }
  expected = seen;
  return false;
}

void Machine::fence(Op op, Order order, const Site& site) {
  point();
  order = order_of(op, order, site);
  memory_.fence(me().view, order);
  note("%s %s  %s:%u", name_of(op), name_of(order), file_of(site), site.line());
}

void Machine::trace_access(Op op, int location, const char* what, Order order, const Site& site) {
  const Site& s = site_of(op, site);
  note("%-16s [%d] %-28s %-8s %s:%u%s", name_of(op), location, what, name_of(order), file_of(site),
       site.line(),
       s.line() != site.line() || s.file_name() != site.file_name()
           ? (std::string(" for ") + file_of(s) + ':' + std::to_string(s.line())).c_str()
           : "");
}

// --- waiting

// The thread's deadline passes now, which may cost budget.
bool Machine::time_out() {
  Thread& t = me();
  if (!t.expired) {
    --left_.timeouts;
    t.expired = true;
  }
  note("its deadline is over");
  return true;
}

bool Machine::await(const Condition& c, Order declared, const Deadline* deadline,
                    const Site& site) {
  Thread& t = me();
  const Order order = order_of(Op::await, declared, site);
  t.condition = c;
  t.order = order;
  t.timed = deadline != nullptr;
  t.wait = Thread::Wait::await;
  point();
  t.wait = Thread::Wait::none;
  if (memory_.poisoned(c.location)) {
    fail("wait on an object that is gone, at %s:%u", file_of(site), site.line());
  }

  // The writes that end the wait, the newest first; then the time-out.
  const int newest = memory_.newest(c.location);
  int options[kMostWrites + 2];
  int n = 0;
  for (int i = newest; i >= memory_.oldest_readable(c.location, t.view, order); --i) {
    if ((i == newest || left_.stale > 0) && c(memory_.value(c.location, i))) options[n++] = i;
  }
  constexpr int kTimeOut = -1;
  if (t.timed && (t.expired || left_.timeouts > 0)) options[n++] = kTimeOut;
  if (n == 0) fail("deadlock: main would wait for ever at %s:%u", file_of(site), site.line());
  const int index = options[search.choose(n)];
  if (index == kTimeOut) {
    time_out();
    return c(load(c.location, declared, site));
  }
  if (index != newest) --left_.stale;
  memory_.read(t.view, c.location, index, order);
  if (trace != nullptr) {
    char what[64];
    std::snprintf(what, sizeof what, "-> %#llx%s",
                  static_cast<unsigned long long>(memory_.value(c.location, index)),
                  index != newest ? " (stale)" : "");
    trace_access(Op::await, c.location, what, order, site);
  }
  return true;
}

// A futex. The kernel compares and goes to sleep behind full barriers, as does the waker before it
// looks for sleepers: the compare may read an old value, but none older than what a wake on this
// word has seen. Neither side synchronises the threads.
Parked Machine::park(int location, std::uint32_t low_half, std::uint32_t channels,
                     const Deadline* deadline, const Site& site) {
  Thread& t = me();
  point();
  if (memory_.poisoned(location)) {
    fail("sleep on an object that is gone, at %s:%u", file_of(site), site.line());
  }
  std::uint8_t& seen = t.view.now.seen(location);
  seen = static_cast<std::uint8_t>(std::max<int>(seen, slept_on_[location]));
  const int index = choose_write(location, relaxed);
  seen = static_cast<std::uint8_t>(index);
  if (static_cast<std::uint32_t>(memory_.value(location, index)) != low_half) {
    note("does not sleep: [%d] has changed", location);
    return Parked::woken;
  }
  note("sleeps on [%d], channels %#x%s", location, channels, deadline != nullptr ? ", timed" : "");
  if (alone()) fail("deadlock: main would sleep for ever at %s:%u", file_of(site), site.line());
  t.address = memory_.address_of(location);
  t.channels = channels;
  t.timed = deadline != nullptr;
  t.woken = false;
  t.wait = Thread::Wait::parked;
  let_others();
  t.wait = Thread::Wait::none;
  if (t.woken) return Parked::woken;
  const bool by_chance = left_.spurious > 0;
  const bool by_time = t.timed && (t.expired || left_.timeouts > 0);
  if (by_time && (!by_chance || search.choose(2) == 0)) {
    time_out();
    return Parked::timed_out;
  }
  --left_.spurious;
  note("wakes up for no reason");
  return Parked::woken;
}

void Machine::unpark(const void* address, std::uint32_t channels, const Site&) {
  point();
  if (const int location = memory_.find(address); location != Memory::kFull) {
    int& seen = slept_on_[location];
    seen = std::max<int>(seen, me().view.now.seen(location));
  }
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (t.wait == Thread::Wait::parked && t.address == address && (t.channels & channels) != 0) {
      t.woken = true;
    }
  }
  note("wakes channels %#x of [%d]", channels, memory_.find(address));
}

void Machine::step_aside() {
  if (alone()) {
    if (++idle_rounds_ > kMostIdleRounds) fail("deadlock: main goes round for ever");
    return;
  }
  Thread& t = me();
  t.writes_seen = writes_;
  t.timed = false;
  t.wait = Thread::Wait::aside;
  point();
  t.wait = Thread::Wait::none;
}

bool Machine::passed(const Deadline&) {
  Thread& t = me();
  if (!t.expired && left_.timeouts > 0 && search.choose(2) == 1) time_out();
  return t.expired;
}

const Deadline* Machine::deadline(bool over) {
  me().expired = over;
  return &kSomeTime;
}

}  // namespace lockswap::explore
