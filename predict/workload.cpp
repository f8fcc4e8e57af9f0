#include "predict/workload.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace lockswap::predict {

namespace {

using cost::Access;
using cost::machine;

struct alignas(128) Line {
  std::uint64_t word = 0;
};

class Run {
 public:
  Run(Lock& lock, const Workload& workload, int threads, double warm)
      : lock_(lock),
        workload_(workload),
        threads_(threads),
        warm_(warm),
        done_(static_cast<std::size_t>(threads)),
        turn_(static_cast<std::size_t>(threads)),
        data_(static_cast<std::size_t>(workload.lines)) {}

  void thread(int i) {
    for (std::uint64_t round = 0; machine.goes_on(); ++round) {
      if (!counts_ && machine.now() >= warm_) {
        counts_ = true;
        machine.begin_counting();
      }
      if (workload_.ring && !wait_for_turn(i, round)) return;
      const bool writes = is_write();
      section(writes);
      if (counts_)
        ++(writes ? done_[static_cast<std::size_t>(i)].writes
                  : done_[static_cast<std::size_t>(i)].reads);
      if (workload_.ring) pass_turn(i);
      if (workload_.outside > 0) machine.work(workload_.outside * share_outside());
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

  bool is_write() {
    if (workload_.write_share <= 0) return false;
    return std::bernoulli_distribution(std::min(1.0, workload_.write_share))(machine.random());
  }
  double share_outside() {
    return workload_.varies ? std::uniform_real_distribution<double>(0, 2)(machine.random()) : 1;
  }
  void section(bool writes) {
    writes ? lock_.write() : lock_.read();
    enter(writes);
    for (Line& line : data_)
      machine.access(&line, writes ? Access::write : Access::read);
    if (workload_.inside > 0) machine.work(workload_.inside);
    inside_ = writes ? 0 : inside_ - 1;
    writes ? lock_.write_unlock() : lock_.read_unlock();
  }
  // A lock that lets threads in together would look fast.
  void enter(bool writes) {
    if (writes ? inside_ != 0 : inside_ < 0) {
      std::fprintf(stderr, "lockswap-model: the lock let a thread in beside a writer\n");
      std::abort();
    }
    inside_ = writes ? -1 : inside_ + 1;
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
  Lock& lock_;
  const Workload& workload_;
  const int threads_;
  const double warm_;
  bool counts_ = false;
  int inside_ = 0;  // readers; -1: a writer
  std::vector<Done> done_;
  std::vector<Line> turn_;
  std::vector<Line> data_;
};

}  // namespace

Outcome run(const cost::Costs& costs, Lock& lock, const Workload& workload, int threads,
            double ns) {
  Run all(lock, workload, threads, ns / 5);
  machine.run(
      costs, threads, ns, [&lock] { lock.begin(); }, [&all](int i) { all.thread(i); });
  return all.outcome(ns);
}

}  // namespace lockswap::predict
