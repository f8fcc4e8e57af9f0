// Executions, and the choice of the thread that runs next.
#include <algorithm>
#include <cstdio>

#include "multicore/explore/machine.h"

namespace lockswap::explore {

Machine machine;

const char* file_of(const Site& site) {
  const char* const name = site.file_name();
  const char* below_src = nullptr;
  for (const char* at = name; (at = std::strstr(at, "src/")) != nullptr; at += 4) {
    if (at == name || at[-1] == '/') below_src = at + 4;
  }
  if (below_src != nullptr) return below_src;
  const char* slash = std::strrchr(name, '/');
  return slash == nullptr ? name : slash + 1;
}

namespace {
std::string format(const char* f, va_list args) {
  char text[1024];
  std::vsnprintf(text, sizeof text, f, args);
  return text;
}
}  // namespace

// --- an execution

bool Machine::run(const Scenario& scenario, const Bounds& bounds) {
  reset(scenario);
  left_ = bounds;
  run_alone(scenario.setup);
  View& known = memory_.thread(kMain).now;
  if (failure_.empty()) {
    for (int i = 0; i < count_; ++i) {
      View& now = memory_.thread(i).now;
      const std::uint8_t clock = now.clock(i);
      now = known;
      now.clock(i) = clock;
    }
    ++known.clock(kMain);
    // Which thread begins is a free choice.
    Search::Actor actors[kMaxThreads];
    for (int i = 0; i < count_; ++i)
      actors[i] = {i, true};
    current_ = search.choose_actor(actors, count_);
    threads_[current_].fiber.enter_from(outside_);
  }
  if (failure_.empty()) {
    for (int i = 0; i < count_; ++i)
      known.join(memory_.thread(i).now);
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
  memory_.reset(model);
  search.begin_execution();
  steps_ = idle_rounds_ = patience_rounds_ = process_ = 0;
  writes_ = 0;
  failure_.clear();
  for (int i = 0; i < kMaxThreads; ++i) {
    Thread& t = threads_[i];
    memory_.thread(i).now.clock(i) = 1;
    t.finished = t.expired = t.woken = t.timed = t.at_doorway = t.idle = t.idle_over = false;
    t.patient = t.impatient = false;
    t.generation = 0;
    t.place = static_cast<unsigned>(i);
    t.exit_hooks.clear();
    t.caller = Caller{};
    t.at = Site{};
    t.wait = Thread::Wait::none;
    if (i < count_) t.fiber.reset(&thread_main);
  }
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
  machine.end_thread();
}

void Machine::forked_main() {
  machine.scenario_->after_fork(machine.current_);
  machine.end_thread();
}

void Machine::end_thread() {
  note("has nothing more to do");
  me().finished = true;
  let_others();
  __builtin_unreachable();
}

// The kernel copies the memory while the other threads go on, page by page, but each of them stops
// at its first store to a page that has been copied, and no copy is of a later time: so the child
// sees what each thread did up to some point, and all of that.
void Machine::fork(const std::function<void()>& at_fork) {
  point();
  at_fork();
  note("forks: the other threads are gone");
  for (int i = 0; i < count_; ++i)
    drain(i);
  View& known = memory_.thread(current_).now;
  for (int i = 0; i < count_; ++i)
    known.join(memory_.thread(i).now);
  ++process_;
  survivor_ = current_;
  for (int i = 0; i < count_; ++i) {
    if (i == current_) continue;
    Thread& t = threads_[i];
    t.finished = t.expired = t.woken = t.timed = t.at_doorway = t.idle = t.idle_over = false;
    t.patient = t.impatient = false;
    ++t.generation;
    t.exit_hooks.clear();
    t.caller = Caller{};
    t.at = Site{};
    t.wait = Thread::Wait::none;
    for (auto hook : new_threads_)
      hook(i);
    memory_.thread(i) = ThreadView{known, {}, {}};
    ++memory_.thread(i).now.clock(i);
    t.fiber.reset(&forked_main);
  }
  ++known.clock(current_);
}

bool Machine::blocked(int thread) const {
  const Thread& t = threads_[thread];
  if (t.finished || ready(thread)) return false;
  // A sleeper that is about to be woken is not blocked.
  if (t.wait != Thread::Wait::parked || !t.caller.set) return true;
  return !t.caller.condition(memory_.newest_value(t.caller.condition.location));
}

std::uint32_t Machine::place(std::uint32_t places) {
  unsigned& place = me().place;
  if (!alone() && places > 1 && left_.moves > 0 && search.choose(2) == 1) {
    --left_.moves;
    ++place;
    note("moves to CPU %u of %u", place % places, places);
  }
  return place % places;
}

void Machine::expect_exit_hook(void (*hook)()) {
  auto& hooks = me().exit_hooks;
  if (std::find(hooks.begin(), hooks.end(), hook) == hooks.end()) hooks.push_back(hook);
}

void Machine::end_and_begin_thread() {
  point();
  note("ends; a new thread begins in its place");
  auto& hooks = me().exit_hooks;
  for (std::size_t i = 0; i < hooks.size(); ++i)
    hooks[i]();
  hooks.clear();
  ++me().generation;
  for (auto hook : new_threads_)
    hook(current_);
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
  if (++steps_ > kMostSteps) {
    fail("livelock: more than %d steps:%s", kMostSteps, whereabouts().c_str());
  }
  let_others();
}

// Goes on with the thread that is chosen; returns when that is the calling thread.
void Machine::let_others() {
  const int next = next_thread();
  if (next == current_) return;
  Fiber& from = me().fiber;
  current_ = next;
  threads_[next].fiber.enter_from(from);
}

bool Machine::ready(int thread) const {
  const Thread& t = threads_[thread];
  if (t.finished) return false;
  switch (t.wait) {
    case Thread::Wait::none:
      return true;
    case Thread::Wait::await:
      return t.condition(newest_for(thread, t.condition.location)) || (t.timed && t.expired) ||
             (t.patient && t.impatient);
    case Thread::Wait::parked:
      return t.woken || (t.timed && t.expired) || (t.patient && t.impatient) || t.idle_over;
    case Thread::Wait::aside:
      return writes_ != t.writes_seen;
  }
  return false;
}

bool Machine::lucky(int thread) const {
  const Thread& t = threads_[thread];
  if (t.finished) return false;
  const bool by_time = may_time_out(t) || may_lose_patience(t);
  if (t.wait == Thread::Wait::parked) return left_.spurious > 0 || by_time;
  if (t.wait != Thread::Wait::await) return false;
  if (by_time) return true;
  if (left_.stale == 0) return false;
  const int at = t.condition.location;
  for (int i = memory_.newest(at); i-- > memory_.oldest_readable(thread, at, t.order);) {
    if (t.condition(memory_.value(at, i))) return true;
  }
  return false;
}

int Machine::next_thread() {
  for (;;) {
    Search::Actor actors[Search::kActors];
    int n = 0;
    bool somebody_can = false;
    const bool i_can = ready(current_);
    if (i_can) {
      actors[n++] = {current_, true};
      somebody_can = true;
    }
    if (!i_can || left_.preemptions > 0) {
      for (int i = 0; i < count_; ++i) {
        if (i == current_ && i_can) continue;
        const bool can = ready(i);
        somebody_can |= can;
        if (can || lucky(i)) actors[n++] = {i, can};
      }
    }
    if (model == MemoryModel::tso && (!somebody_can || somebody_waits())) {
      // A store buffer acts by itself, whatever its thread does.
      for (int i = 0; i < count_; ++i) {
        if (!memory_.has_delayed(i)) continue;
        actors[n++] = {kMaxThreads + i, true};
        somebody_can = true;
      }
    }
    if (somebody_can) {
      const int next = actors[search.choose_actor(actors, n)].id;
      if (next >= kMaxThreads) {
        flush_one(next - kMaxThreads);
        continue;
      }
      if (i_can && next != current_) --left_.preemptions;
      return next;
    }
    bool all_finished = true;
    for (int i = 0; i < count_; ++i)
      all_finished &= threads_[i].finished;
    if (all_finished) end_execution();
    if (!let_time_pass()) {
      fail("%s:%s", idle_rounds_ > kMostIdleRounds ? "livelock" : "deadlock",
           whereabouts().c_str());
    }
  }
}

// Whether a thread waits for one atom, or any atom, to change.
bool Machine::somebody_waits() const {
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    const bool waits = t.wait == Thread::Wait::await || t.wait == Thread::Wait::aside;
    if (!t.finished && waits && !ready(i)) return true;
  }
  return false;
}

// No thread can go on for sure. True: deadlines pass, or a busy loop makes one more round.
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
  for (int i = 0; i < count_ && patience_rounds_ < kMostPatience; ++i) {
    Thread& t = threads_[i];
    const bool waits = t.wait == Thread::Wait::await || t.wait == Thread::Wait::parked;
    if (t.finished || !waits || !t.patient) continue;
    t.impatient = changed = true;
  }
  if (changed) {
    ++patience_rounds_;
    note("time passes: all patience is over");
    return true;
  }
  // Each deadline passes once. After it readers may have patience with other writers than before.
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (t.finished) continue;
    if (!t.expired) {
      patience_rounds_ = 0;
      t.expired = true;
      changed |= t.timed && t.wait != Thread::Wait::none;
    }
    if (t.idle && t.wait == Thread::Wait::parked) changed = t.idle_over = true;
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

std::string Machine::whereabouts() const {
  std::string text;
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.finished) continue;
    const bool awaits = t.wait == Thread::Wait::await;
    const bool sleeps = t.wait == Thread::Wait::parked;
    text += " T" + std::to_string(i);
    text += awaits                          ? " waits"
            : sleeps                        ? " sleeps"
            : t.wait == Thread::Wait::aside ? " goes round"
                                            : " is";
    const Site& site = t.caller.set ? t.caller.site : t.at;
    text += std::string(" at ") + file_of(site) + ':' + std::to_string(site.line());
    const int atom = awaits   ? t.condition.location
                     : sleeps ? memory_.find(t.address)
                              : Memory::kFull;
    if (atom != Memory::kFull) text += " for " + atom_name(atom);
    text += ';';
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace lockswap::explore
