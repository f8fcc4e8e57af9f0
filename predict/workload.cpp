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

class Run {
 public:
  Run(const NamedLock& lock, const Workload& workload, int threads, double warm)
      : workload_(workload),
        threads_(threads),
        warm_(warm),
        done_(static_cast<std::size_t>(threads)),
        turn_(static_cast<std::size_t>(threads)) {
    for (int i = 0; i < (workload.own ? threads : workload.locks); ++i)
      guarded_.emplace_back(lock.make(), workload.lines);
  }

  void begin() {
    for (Guarded& g : guarded_)
      g.begin();
  }

  void thread(int i) {
    for (std::uint64_t round = 0; machine.goes_on(); ++round) {
      if (!counts_ && machine.now() >= warm_) {
        counts_ = true;
        machine.begin_counting();
      }
      if (workload_.ring && !wait_for_turn(i, round)) return;
      const bool writes = is_write(i);
      section(guarded_[chosen(i)], writes);
      if (counts_)
        ++(writes ? done_[static_cast<std::size_t>(i)].writes
                  : done_[static_cast<std::size_t>(i)].reads);
      if (workload_.ring) pass_turn(i);
      const double outside = is_writer(i) ? workload_.outside_of_writers : workload_.outside;
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
  std::size_t chosen(int thread) {
    if (workload_.own) return static_cast<std::size_t>(thread);
    if (guarded_.size() == 1) return 0;
    return std::uniform_int_distribution<std::size_t>(0, guarded_.size() - 1)(machine.random());
  }
  bool is_writer(int thread) const { return thread < workload_.writers; }
  bool is_write(int thread) {
    if (workload_.writers > 0) return is_writer(thread);
    if (workload_.write_share <= 0) return false;
    return std::bernoulli_distribution(std::min(1.0, workload_.write_share))(machine.random());
  }
  double share_outside() {
    return workload_.varies ? std::uniform_real_distribution<double>(0, 2)(machine.random()) : 1;
  }
  void section(Guarded& g, bool writes) {
    g.acquire(writes);
    if (workload_.inside > 0) machine.work(workload_.inside);
    g.release();
  }
  // The first thread of the ring begins its first round at once. Returns false if the run is over.
  bool wait_for_turn(int i, std::uint64_t round) {
    const Line& mine = turn_[static_cast<std::size_t>(i)];
    const std::uint64_t wanted = i == 0 ? round : round + 1;
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
  const Workload& workload_;
  const int threads_;
  const double warm_;
  bool counts_ = false;
  std::vector<Guarded> guarded_;
  std::vector<Done> done_;
  std::vector<Line> turn_;
};

}  // namespace

Outcome run(const cost::Costs& costs, const NamedLock& lock, const Workload& workload, int threads,
            double ns) {
  Run all(lock, workload, threads, ns / 5);
  machine.run(
      costs, threads, ns, [&all] { all.begin(); }, [&all](int i) { all.thread(i); });
  return all.outcome(ns);
}

}  // namespace lockswap::predict
