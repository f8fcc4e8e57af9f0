// An execution: its threads begin, fork, end, and fail.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "multicore/explore/machine.h"

namespace lockswap::explore {

Machine machine;

const char* file_of(const Site& site) {
  const char* const name = site.file_name();
  const char* below = nullptr;
  for (const char* const folder : {"src/", "include/"}) {
    const std::size_t length = std::strlen(folder);
    for (const char* at = name; (at = std::strstr(at, folder)) != nullptr; at += length) {
      if ((at == name || at[-1] == '/') && (below == nullptr || below < at + length))
        below = at + length;
    }
  }
  if (below != nullptr) return below;
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

bool Machine::run(const Scenario& scenario, const Bounds& bounds) {
  reset(scenario);
  left_ = bounds;
  most_stale_ = bounds.stale;
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
  if (failure_.empty() && !cut_short_) {
    if (final_states != nullptr) final_states->insert(final_state());
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
  steps_ = sleeps_ = idle_rounds_ = patience_rounds_ = process_ = moments_ = 0;
  hand_offs_ = {};
  if (wakes_one_at_a_time) wakes_ = {};
  writes_ = 0;
  one_thread_ = cut_short_ = checking_ = false;
  failure_.clear();
  for (int i = 0; i < kMaxThreads; ++i) {
    Thread& t = threads_[i];
    memory_.thread(i).now.clock(i) = 1;
    t.finished = t.expired = t.woken = t.timed = t.at_doorway = t.idle = t.idle_over = false;
    t.patient = t.impatient = t.lost_place = false;
    t.patience_over = 0;
    t.asleep_since = 0;
    t.results = 0;
    t.sleeps = {};
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

// The kernel copies memory page by page while the other threads run. But each of them stops at its
// first store to a page that has been copied, and no copy is from a later time. So the child sees
// everything that each thread did up to some point.
void Machine::fork(const std::function<void()>& at_fork) {
  point();
  at_fork();
  note("forks: the other threads are gone");
  for (int i = 0; i < count_; ++i)
    drain(i);
  View& known = memory_.thread(current_).now;
  for (int i = 0; i < count_; ++i)
    known.join(memory_.thread(i).now);
  memory_.unite_pasts(current_, count_);
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

std::uint32_t Machine::place(std::uint32_t places) {
  unsigned& place = me().place;
  if (!alone() && places > 1 && left_.moves > 0 && search.choose(2) == 1) {
    --left_.moves;
    ++place;
    note("moves to CPU %u of %u", place % places, places);
  }
  adds(place);
  return place % places;
}

bool Machine::happens() {
  const bool does = search.choose(2) == 1;
  adds(does ? 1 : 0);
  returns(does ? 1 : 0);
  return does;
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

}  // namespace lockswap::explore
