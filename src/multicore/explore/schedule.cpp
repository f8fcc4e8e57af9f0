// The schedule: which thread runs next, and when time passes because none can.
#include <string>

#include "multicore/explore/machine.h"

namespace lockswap::explore {

void Machine::point() {
  if (alone()) return;
  if (++steps_ > kMostSteps) {
    fail("livelock: more than %d steps:%s", kMostSteps, whereabouts().c_str());
  }
  let_others();
  adds(1);  // some steps return nothing, such as a fence
}

// Continues with the chosen thread. Returns when that is the calling thread.
void Machine::let_others() {
  const int next = next_thread();
  if (next == current_) return;
  multicore::Fiber& from = me().fiber;
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

bool Machine::blocked(int thread) const {
  const Thread& t = threads_[thread];
  if (t.finished || ready(thread)) return false;
  // A sleeper that is about to be woken is not blocked.
  if (t.wait != Thread::Wait::parked || !t.caller.set) return true;
  return !t.caller.condition(memory_.newest_value(t.caller.condition.location));
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
      if (n > 1 && was_here()) {
        cut_short_ = true;
        end_execution();
      }
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

// Returns whether a thread waits for one atom, or any atom, to change.
bool Machine::somebody_waits() const {
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    const bool waits = t.wait == Thread::Wait::await || t.wait == Thread::Wait::aside;
    if (!t.finished && waits && !ready(i)) return true;
  }
  return false;
}

// Called when no thread can certainly continue. Returns true if deadlines pass, or if a busy loop
// makes another round.
bool Machine::let_time_pass() {
  fail_if_a_wakeup_is_lost();
  if (let_naps_end()) return true;
  if (scenario_->overdue) {
    if (const std::string who = scenario_->overdue(); !who.empty()) {
      // A thread in a busy loop may have polled before the last write, or seen an older one.
      if (let_busy_loops_go_round()) return true;
      fail("%s:%s", who.c_str(), whereabouts().c_str());
    }
  }
  return let_patience_end() || let_deadlines_pass() || let_busy_loops_go_round();
}

void Machine::fail_if_a_wakeup_is_lost() {
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.finished || t.wait != Thread::Wait::parked || !t.caller.set) continue;
    const Condition& c = t.caller.condition;
    if (c(memory_.newest_value(c.location))) {
      fail("lost wake-up: T%d sleeps at %s:%u, though what it waits for is so", i,
           file_of(t.caller.site), t.caller.site.line());
    }
  }
}

// Busy loops make another round, although nothing was written.
bool Machine::let_busy_loops_go_round() {
  if (++idle_rounds_ > kMostIdleRounds) return false;
  bool any = false;
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (t.finished || t.wait != Thread::Wait::aside) continue;
    t.writes_seen = ~std::uint64_t{0};
    any = true;
  }
  return any;
}

bool Machine::let_patience_end() {
  bool any = false;
  for (int i = 0; i < count_ && patience_rounds_ < most_patience; ++i) {
    Thread& t = threads_[i];
    const bool waits = t.wait == Thread::Wait::await || t.wait == Thread::Wait::parked;
    if (t.finished || !waits || !t.patient) continue;
    t.impatient = any = true;
    t.patience_over = ++moments_;
  }
  if (!any) return false;
  ++patience_rounds_;
  note("time passes: all patience is over");
  return true;
}

// Each deadline passes once. Afterwards readers may have patience with other writers than before.
bool Machine::let_deadlines_pass() {
  bool any = false;
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    if (t.finished) continue;
    if (!t.expired) {
      patience_rounds_ = 0;
      t.expired = true;
      any |= t.timed && t.wait != Thread::Wait::none;
    }
    if (t.idle && t.wait == Thread::Wait::parked) any = t.idle_over = true;
  }
  if (any) note("time passes: all deadlines are over");
  return any;
}

// Ends the sleeps that no thread ends. Returns whether there was one.
bool Machine::let_naps_end() {
  bool any = false;
  for (int i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    const bool naps = t.wait == Thread::Wait::parked && t.channels == kNobodysChannel;
    if (!t.finished && naps && t.patient) t.impatient = any = true;
  }
  if (any) note("time passes: naps are over");
  return any;
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
