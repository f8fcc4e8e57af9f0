#include "multicore/cost/machine.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace lockswap::cost {

namespace {

constexpr std::uintptr_t kLineBytes = 64;

}  // namespace

Machine machine;

int Costs::cores() const {
  int most = 0;
  for (const Place& p : place)
    most = std::max(most, p.core);
  return most + 1;
}

void Machine::run(const Costs& costs, int threads, double ns, const std::function<void()>& setup,
                  const std::function<void(int)>& body) {
  assert(threads >= 1 && threads <= kMostThreads && !costs.place.empty());
  costs_ = costs;
  cores_ = costs.cores();
  assert(costs_.transfer.size() == static_cast<std::size_t>(cores_) * cores_);
  ++run_;
  end_ = ns;
  events_.clear();
  events_made_ = 0;
  lines_.clear();
  found_.fill({});
  sleepers_.clear();
  random_.seed(costs.seed);
  if (threads_.size() < static_cast<std::size_t>(threads))
    threads_.resize(static_cast<std::size_t>(threads));
  const std::function<void(int)> alone = [&setup](int) { setup(); };
  go(1, alone);
  go(threads, body);
}

// Runs body in the first `threads` threads until none can continue.
void Machine::go(int threads, const std::function<void(int)>& body) {
  body_ = &body;
  std::uniform_real_distribution<double> stagger(0, 100);
  const int processors = static_cast<int>(costs_.place.size());
  scheduler_.begin(threads, processors);
  const auto end =
      costs_.place.begin() + (costs_.is_full ? processors : std::min(threads, processors));
  for (int i = 0; i < threads; ++i) {
    Thread& t = threads_[static_cast<std::size_t>(i)];
    // Which processor of several threads it will have, isn't known yet; they are all in use.
    const Place& mine = costs_.place[static_cast<std::size_t>(i % processors)];
    t.fiber.reset(&Machine::thread_main);
    t.now = 0;
    t.finished = t.is_ready = t.is_woken = t.polls = false;
    t.counts = {};
    t.shares_core = std::any_of(costs_.place.begin(), end, [&mine](const Place& p) {
      return &p != &mine && p.core == mine.core;
    });
    ++t.turn;
    schedule(i, stagger(random_));
  }
  while (!events_.empty()) {
    std::pop_heap(events_.begin(), events_.end());
    const Event e = events_.back();
    events_.pop_back();
    if (e.at > last_) break;
    if (e.kind == Event::Kind::is_taken) {
      take(*e.line);
      continue;
    }
    if (e.kind == Event::Kind::is_free) {
      e.line->busy = false;
      serve(*e.line, e.at);
      continue;
    }
    Thread& t = threads_[static_cast<std::size_t>(e.thread)];
    if (e.turn != t.turn || t.finished) continue;  // it has continued for another reason
    if (e.kind == Event::Kind::times_out && t.is_woken) continue;
    t.now = std::max(t.now, e.at);
    if (e.kind != Event::Kind::has_processor) t.timed_out = e.kind == Event::Kind::times_out;
    if (!scheduler_.is_running(e.thread) && !gets_processor(e)) continue;
    current_ = e.thread;
    t.fiber.enter_from(outside_);
  }
}

void Machine::thread_main() {
  (*machine.body_)(machine.current_);
  machine.me().finished = true;
  machine.leave_processor();
  for (;;)
    machine.block();
}

void Machine::begin_counting() {
  for (Thread& t : threads_)
    t.counts = {};
}

void Machine::schedule(int thread, double at, Event::Kind kind) {
  events_.push_back(
      {at, events_made_++, kind, thread, threads_[static_cast<std::size_t>(thread)].turn, nullptr});
  std::push_heap(events_.begin(), events_.end());
}
void Machine::schedule(Line& line, double at, Event::Kind kind) {
  events_.push_back({at, events_made_++, kind, -1, 0, &line});
  std::push_heap(events_.begin(), events_.end());
}

void Machine::block() {
  Thread& t = me();
  outside_.enter_from(t.fiber);
  ++t.turn;
}

bool Machine::block_until(double until) {
  if (until < std::numeric_limits<double>::infinity())
    schedule(current_, until, Event::Kind::times_out);
  block();
  return !me().timed_out;
}

// Returns false if the thread of the event has to wait for a processor first.
bool Machine::gets_processor(const Event& event) {
  Thread& t = threads_[static_cast<std::size_t>(event.thread)];
  if (scheduler_.admit(event.thread)) {
    begin_slice(event.thread, t.now);
    return true;
  }
  ++t.turn;  // another event won't make it go on
  t.is_ready = true;
  if (costs_.preempts > 0 && std::bernoulli_distribution(costs_.preempts)(random_))
    preempt(event.thread, event.at);
  return false;
}

// A woken thread gets the processor of some other thread after that one's next step.
void Machine::preempt(int woken, double at) {
  std::uniform_int_distribution<int> any(0, scheduler_.processors() - 1);
  const int victim = scheduler_.thread_on(any(random_));
  scheduler_.put_first(woken);
  Thread& t = threads_[static_cast<std::size_t>(victim)];
  t.slice_end = std::min(t.slice_end, at);
  if (t.polls) schedule(victim, at, Event::Kind::times_out);
}

void Machine::begin_slice(int thread, double at) {
  threads_[static_cast<std::size_t>(thread)].slice_end =
      at + costs_.slice * around_one(costs_.noise);
}

void Machine::leave_processor() {
  if (!scheduler_.is_shared()) return;
  const int next = scheduler_.leave(current_);
  if (next == Scheduler::kNone) return;
  threads_[static_cast<std::size_t>(next)].is_ready = false;
  begin_slice(next, now() + costs_.switching);
  schedule(next, now() + costs_.switching, Event::Kind::has_processor);
}

void Machine::end_slice() {
  if (!scheduler_.is_awaited()) {
    begin_slice(current_, now());
    return;
  }
  leave_processor();
  scheduler_.admit(current_);  // all processors are taken
  me().is_ready = true;
  block();
}

void Machine::yield() {
  if (scheduler_.is_awaited()) {
    end_slice();
  } else {
    spend(costs_.switching);
  }
}

void Machine::spend(double ns) {
  for (Thread& t = me(); scheduler_.is_shared() && t.now + ns > t.slice_end;) {
    const double left = std::max(0.0, t.slice_end - t.now);
    pass_time(left);
    ns -= left;
    end_slice();
  }
  pass_time(ns);
}

void Machine::pass_time(double ns) {
  Thread& t = me();
  t.now += ns;
  // Continues without a switch if no other step is due before.
  if (events_.empty() || events_.front().at > t.now) return;
  schedule(current_, t.now);
  block();
}

double Machine::around_one(double share) {
  if (share <= 0) return 1;
  return std::uniform_real_distribution<double>(1 - share, 1 + share)(random_);
}

void Machine::work(double ns) {
  ns *= around_one(costs_.jitter);
  spend(me().shares_core ? ns * costs_.shared_core : ns);
}

Machine::Line& Machine::line_of(const void* address) {
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(address) / kLineBytes;
  auto& [known, line] = found_[number % found_.size()];
  if (known != number || line == nullptr) {
    known = number;
    line = &lines_[number];  // its address is stable
  }
  return *line;
}

// Returns the core that the line comes from: the owner, or the nearest with a copy, or -1 if there
// is none.
int Machine::nearest_copy(const Line& line, int core) const {
  if (line.owner >= 0) return line.owner;
  int best = -1;
  for (int i = 0; i < cores_; ++i) {
    if (i == core || !line.sharers[static_cast<std::size_t>(i)]) continue;
    if (best < 0 || transfer(i, core) < transfer(best, core)) best = i;
  }
  return best;
}

double Machine::price(const Line& line, const Request& request, Source& source) const {
  const Place& to = place_of(request.thread);
  const int from = nearest_copy(line, to.core);
  double ns = costs_.memory;
  source = Source::memory;
  const auto note = [&](int core) {
    source = Source::node;
    for (const Place& p : costs_.place) {
      if (p.core == core && p.node != to.node) source = Source::remote;
    }
  };
  if (from >= 0) {
    ns = transfer(from, to.core);
    note(from);
  }
  if (!request.changes || line.owner >= 0) return ns;
  // It is the only copy once the farthest of the others is known to be invalid.
  for (int i = 0; i < cores_; ++i) {
    if (i == to.core || !line.sharers[static_cast<std::size_t>(i)]) continue;
    if (from < 0 || transfer(i, to.core) > ns) {
      ns = transfer(i, to.core);
      note(i);
    }
  }
  return ns;
}

std::size_t Machine::next_request(const Line& line) {
  if (costs_.arbitration == Arbitration::random) {
    std::uniform_int_distribution<std::size_t> any(0, line.waiting.size() - 1);
    return any(random_);
  }
  if (costs_.arbitration == Arbitration::first_come || line.owner < 0) return 0;
  std::size_t best = 0;
  for (std::size_t i = 1; i < line.waiting.size(); ++i) {
    const auto distance = [&](std::size_t n) {
      return transfer(line.owner, place_of(line.waiting[n].thread).core);
    };
    if (distance(i) < distance(best)) best = i;
  }
  return best;
}

// Begins the transfer to the next waiting request.
void Machine::serve(Line& line, double at) {
  if (line.busy || line.waiting.empty()) return;
  const std::size_t next = next_request(line);
  const Request request = line.waiting[next];
  line.waiting.erase(line.waiting.begin() + static_cast<std::ptrdiff_t>(next));
  Source source;
  const double queued = line.waiting.empty() ? 1 : costs_.queued;
  const double ns =
      price(line, request, source) * queued * around_one(costs_.noise) + request.takes;
  ++threads_[static_cast<std::size_t>(request.thread)]
        .counts.transfers[static_cast<std::size_t>(source)];
  line.next = request;
  line.busy = true;
  schedule(request.thread, at + ns);
  if (!request.changes && line.owner < 0) {  // no core must give up its copy
    take(line);
    schedule(line, at + costs_.serve, Event::Kind::is_free);
    return;
  }
  schedule(line, at + ns * costs_.reach, Event::Kind::is_taken);
  schedule(line, at + ns, Event::Kind::is_free);
}

// The request has reached the cores that have the line.
void Machine::take(Line& line) {
  const int core = place_of(line.next.thread).core;
  if (line.next.changes) {
    line.owner = line.arriving = core;
    line.sharers.reset();
  } else {
    if (line.owner >= 0) line.sharers.set(static_cast<std::size_t>(line.owner));
    line.owner = -1;
  }
  line.sharers.set(static_cast<std::size_t>(core));
}

bool Machine::is_here(const Line& line, bool changes) const {
  const int core = place().core;
  return line.arriving != core && (changes ? line.owner == core : has(line, core));
}

void Machine::access(const void* address, Access how) {
  const bool changes = how != Access::read;
  const double takes = how == Access::update ? costs_.update : 0;
  spend(costs_.step);
  Line& line = line_of(address);
  if (is_here(line, changes)) {
    spend(costs_.hit + takes);
    if (is_here(line, changes)) {
      ++me().counts.hits;
      if (changes) call_watchers(line);
      return;
    }
  }
  line.waiting.push_back({current_, changes, takes});
  serve(line, now());
  block();
  if (changes) {
    line.arriving = -1;
    call_watchers(line);
  }
}

// Each of them polls again after this thread's change.
void Machine::call_watchers(Line& line) {
  for (const int thread : line.watchers)
    schedule(thread, now());
  line.watchers.clear();
}

void Machine::stream(const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  double ns = 0;
  const auto core = static_cast<std::size_t>(place().core);
  for (std::size_t i = 0; i < bytes; i += kLineBytes) {
    Line& line = line_of(begin + i);
    ns += has(line, place().core) ? costs_.hit : costs_.stream;
    if (line.owner >= 0) line.sharers.set(static_cast<std::size_t>(line.owner));
    line.owner = -1;
    line.sharers.set(core);
  }
  spend(ns);
}

bool Machine::watch(const void* address, double until) {
  Line& line = line_of(address);
  Thread& t = me();
  line.watchers.push_back(current_);
  t.polls = true;
  const bool changed = block_until(scheduler_.is_shared() ? std::min(until, t.slice_end) : until);
  t.polls = false;
  if (!changed) std::erase(line.watchers, current_);
  // The slice may be over, so that another thread changes the line while this one can't see it.
  return changed || t.now < until;
}

bool Machine::sleep(const void* address, std::uint32_t channels, double until) {
  sleepers_.push_back({current_, channels, address});
  ++me().counts.sleeps;
  leave_processor();
  block_until(until);
  const bool woken = std::exchange(me().is_woken, false);
  if (!woken) std::erase_if(sleepers_, [this](const Sleeper& s) { return s.thread == current_; });
  return woken;
}

std::uint32_t Machine::wake(const void* address, std::uint32_t channels, std::uint32_t most) {
  spend(costs_.unpark);
  std::uint32_t woken = 0;
  for (auto s = sleepers_.begin(); s != sleepers_.end() && woken < most;) {
    if (s->address != address || (s->channels & channels) == 0) {
      ++s;
      continue;
    }
    // One whose time is over may still wait for a processor.
    Thread& t = threads_[static_cast<std::size_t>(s->thread)];
    if (!t.is_ready) schedule(s->thread, now() + costs_.wake);
    t.is_woken = true;
    s = sleepers_.erase(s);
    ++woken;
  }
  return woken;
}

}  // namespace lockswap::cost
