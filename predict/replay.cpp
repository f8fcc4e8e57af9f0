#include "predict/replay.h"

#include <algorithm>
#include <limits>

#include "predict/guarded.h"

namespace lockswap::predict {

namespace {

using cost::machine;
using Kind = Step::Kind;

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Signal {
  bool given = false;
  bool awaited = false;
};

class Run {
 public:
  Run(const Plan& plan, const Replay& replay)
      : plan_(plan), pace_(replay.pace), signals_(plan.signals) {
    for (const bool is_rwlock : plan.is_rwlock)
      locks_.emplace_back((is_rwlock ? replay.rwlock : replay.mutex).make(), 1);
  }
  void begin() {
    for (Guarded& lock : locks_)
      lock.begin();
  }
  void thread(int i) {
    for (const Step& step : plan_.threads[static_cast<std::size_t>(i)])
      take(step);
    ++done_;
    outcome_.thread_ns += machine.now();
    outcome_.ns = std::max(outcome_.ns, machine.now());
  }
  ReplayOutcome outcome() {
    outcome_.finished = done_ == plan_.threads.size();
    if (!outcome_.finished) outcome_.ns = outcome_.thread_ns = plan_.longest();
    for (std::size_t i = 0; i < plan_.threads.size(); ++i) {
      const cost::Counts& c = machine.counts(static_cast<int>(i));
      for (std::size_t k = 0; k < c.transfers.size(); ++k)
        outcome_.counts.transfers[k] += c.transfers[k];
      outcome_.counts.hits += c.hits;
      outcome_.counts.sleeps += c.sleeps;
    }
    return outcome_;
  }

 private:
  void take(const Step& step) {
    switch (step.kind) {
      case Kind::work:
        machine.work(step.ns * pace_);
        break;
      case Kind::rest:
        machine.spend(step.ns);
        break;
      case Kind::lock:
      case Kind::write:
        acquire(step.of, true);
        break;
      case Kind::read:
        acquire(step.of, false);
        break;
      case Kind::unlock:
        locks_[step.of].release();
        break;
      case Kind::give:
        give(signals_[step.of]);
        break;
      case Kind::await:
        await(signals_[step.of]);
        break;
    }
  }
  void acquire(std::uint32_t lock, bool writes) {
    const double before = machine.now();
    locks_[lock].acquire(writes);
    outcome_.in_calls_ns += machine.now() - before;
    ++outcome_.acquisitions;
  }
  static void give(Signal& signal) {
    signal.given = true;
    if (signal.awaited) machine.wake(&signal, ~0u, std::numeric_limits<std::uint32_t>::max());
  }
  static void await(Signal& signal) {
    machine.spend(machine.costs().park);
    if (signal.given) return;
    signal.awaited = true;
    machine.sleep(&signal, ~0u, kNever);
  }

  const Plan& plan_;
  const double pace_;
  std::vector<Guarded> locks_;
  std::vector<Signal> signals_;
  std::size_t done_ = 0;
  ReplayOutcome outcome_;
};

}  // namespace

double Plan::longest() const {
  // All one after another, on a slow machine, with a sleep for each acquisition.
  constexpr double kSlow = 4, kEach = 200'000;
  double ns = 1e6 + kEach * static_cast<double>(acquisitions);
  for (const auto& thread : threads) {
    for (const Step& step : thread)
      ns += step.ns * kSlow;
  }
  return ns;
}

ReplayOutcome run(const cost::Costs& costs, const Plan& plan, const Replay& replay) {
  Run all(plan, replay);
  machine.end_at(plan.longest());
  machine.run(
      costs, static_cast<int>(plan.threads.size()), kNever, [&all] { all.begin(); },
      [&all](int i) { all.thread(i); });
  machine.end_at(kNever);
  return all.outcome();
}

}  // namespace lockswap::predict
