#include "predict/workload.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "predict/guarded.h"

namespace lockswap::predict {

namespace {

using cost::Access;
using cost::machine;

// The workload's locks, with their data.
class Locks final : public Operated {
 public:
  explicit Locks(const NamedLock& lock) : lock_(lock) {}

  void begin(const Workload& workload, int threads) override {
    workload_ = &workload;
    threads_ = threads;
    turn_ = std::vector<Line>(static_cast<std::size_t>(threads));
    rounds_.assign(static_cast<std::size_t>(threads), 0);
    for (int i = 0; i < (workload.own ? threads : workload.locks); ++i)
      guarded_.emplace_back(lock_.make(), workload.lines);
    for (Guarded& g : guarded_)
      g.begin();
  }
  Did operate(int thread) override {
    if (workload_->ring && !wait_for_turn(thread)) return Did::over;
    const bool writes = is_write(thread);
    section(guarded_[chosen(thread)], writes);
    if (workload_->ring) pass_turn(thread);
    return writes ? Did::write : Did::read;
  }

 private:
  std::size_t chosen(int thread) {
    if (workload_->own) return static_cast<std::size_t>(thread);
    if (guarded_.size() == 1) return 0;
    return std::uniform_int_distribution<std::size_t>(0, guarded_.size() - 1)(machine.random());
  }
  bool is_write(int thread) const {
    if (workload_->writers > 0) return thread < workload_->writers;
    if (workload_->write_share <= 0) return false;
    return std::bernoulli_distribution(std::min(1.0, workload_->write_share))(machine.random());
  }
  void section(Guarded& g, bool writes) {
    g.acquire(writes);
    if (workload_->inside > 0) machine.work(workload_->inside);
    g.release();
  }
  // The first thread in the ring begins its first round at once. Returns false if the run is over.
  bool wait_for_turn(int i) {
    const Line& mine = turn_[static_cast<std::size_t>(i)];
    std::uint64_t& round = rounds_[static_cast<std::size_t>(i)];
    const std::uint64_t wanted = i == 0 ? round : round + 1;
    ++round;
    for (;;) {
      machine.access(&mine, Access::read);
      if (mine.word >= wanted) return true;
      if (!machine.goes_on()) return false;
      machine.watch(&mine, machine.now() + kLongest);
    }
  }
  void pass_turn(int i) {
    Line& next = turn_[static_cast<std::size_t>((i + 1) % threads_)];
    machine.access(&next, Access::write);
    ++next.word;
  }

  static constexpr double kLongest = 1e6;
  const NamedLock& lock_;
  const Workload* workload_ = nullptr;
  int threads_ = 0;
  std::vector<Guarded> guarded_;
  std::vector<Line> turn_;
  std::vector<std::uint64_t> rounds_;
};

class Run {
 public:
  Run(Operated& operated, const Workload& workload, int threads, double warm)
      : operated_(operated),
        workload_(workload),
        threads_(threads),
        warm_(warm),
        done_(static_cast<std::size_t>(threads)) {}

  void begin() { operated_.begin(workload_, threads_); }

  void thread(int i) {
    while (machine.goes_on()) {
      if (!counts_ && machine.now() >= warm_) {
        counts_ = true;
        machine.begin_counting();
      }
      const Did did = operated_.operate(i);
      if (did == Did::over) return;
      if (counts_)
        ++(did == Did::write ? done_[static_cast<std::size_t>(i)].writes
                             : done_[static_cast<std::size_t>(i)].reads);
      const double outside =
          i < workload_.writers ? workload_.outside_of_writers : workload_.outside;
      if (outside > 0) machine.work(outside * share_outside());
    }
  }

  Outcome outcome(double end) const {
    Outcome o;
    o.ns = end - warm_;
    o.least = ~std::uint64_t{0};
    for (const Done& d : done_) {
      o.reads += d.reads;
      o.writes += d.writes;
      o.least = std::min(o.least, d.reads + d.writes);
      o.most = std::max(o.most, d.reads + d.writes);
    }
    o.deviation = deviation(static_cast<double>(o.reads + o.writes) / threads_);
    for (int i = 0; i < threads_; ++i) {
      const cost::Counts& c = machine.counts(i);
      for (std::size_t k = 0; k < c.transfers.size(); ++k)
        o.counts.transfers[k] += c.transfers[k];
      o.counts.hits += c.hits;
      o.counts.sleeps += c.sleeps;
    }
    return o;
  }

 private:
  struct Done {
    std::uint64_t reads = 0, writes = 0;
  };

  double deviation(double mean) const {
    double squares = 0;
    for (const Done& d : done_) {
      const double off = static_cast<double>(d.reads + d.writes) - mean;
      squares += off * off;
    }
    return mean > 0 ? std::sqrt(squares / threads_) / mean : 0;
  }
  double share_outside() {
    return workload_.varies ? std::uniform_real_distribution<double>(0, 2)(machine.random()) : 1;
  }

  Operated& operated_;
  const Workload& workload_;
  const int threads_;
  const double warm_;
  bool counts_ = false;
  std::vector<Done> done_;
};

}  // namespace

Outcome run(const cost::Costs& costs, Operated& operated, const Workload& workload, int threads,
            double ns) {
  Run all(operated, workload, threads, ns / 5);
  machine.run(
      costs, threads, ns, [&all] { all.begin(); }, [&all](int i) { all.thread(i); });
  return all.outcome(ns);
}

Outcome run(const cost::Costs& costs, const NamedLock& lock, const Workload& workload, int threads,
            double ns) {
  Locks locks(lock);
  return run(costs, locks, workload, threads, ns);
}

}  // namespace lockswap::predict
