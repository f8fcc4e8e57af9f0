#include "ldu/contest.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/report.h"
#include "ldu/chain.h"
#include "ldu/deferred_index.h"
#include "ldu/harris_index.h"
#include "ldu/interval_tree.h"
#include "ldu/lives.h"
#include "ldu/locked_index.h"
#include "ldu/other_work.h"
#include "ldu/processes.h"
#include "ldu/rcu_index.h"
#include "ldu/trace_player.h"
#include "ldu/urcu_nodes.h"

namespace bench {
namespace {

// What a thread does: whole lives of processes, or parts of them; and its share of reads.
template <class FileIndex, class AnonIndex>
class MapWorker {
  using Crowd = Processes<FileIndex, AnonIndex>;
  using Process = typename Crowd::Process;

 public:
  alignas(128) std::uint64_t reads = 0;  // no worker shares a line with another
  std::uint64_t writes = 0;
  std::uint64_t taken = 0;
  ByLockClass<std::uint64_t> wait_ticks{};

  MapWorker(Crowd& crowd, Spool& spool, const MapSetup& setup, unsigned number, bool waits)
      : crowd_(&crowd),
        spool_(&spool),
        mix_(setup.mix),
        objects_(static_cast<std::size_t>(setup.objects)),
        work_(setup.work),
        messages_(std::uint64_t{number} << 32),
        walks_an_update_(setup.reads / (1 - setup.reads)),
        times_waits_(waits),
        lives_(crowd, static_cast<std::size_t>(setup.users), setup.plan.threads, number),
        player_(crowd, setup.trace) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    if (!hand_) hand_.emplace(*crowd_);
    LockWaits waits;
    if (times_waits_) LockWaits::here() = &waits;
    watch.write([&] { step(); });
    while (walks_owed() >= 1 && !stop.load(std::memory_order_relaxed))
      watch.read([&] { lives_.walk(*hand_); });
    LockWaits::here() = nullptr;
    for (std::size_t i = 0; i < kClassesOfLocks; ++i)
      wait_ticks[i] += waits.ticks[i];
    reads = hand_->counts.walks;
    writes = hand_->counts.updates;
    taken = hand_->counts.taken;
  }
  template <class F>
  void each_living(F f) {
    for (Process& p : lives_.living())
      f(p);
    player_.each_process(f);
  }
  // Ends what lives, when its thread is gone.
  void end(typename Crowd::Hand& hand) {
    lives_.end(hand);
    player_.each_process([&](Process& p) { crowd_->exit(hand, p); });
    hand_.reset();
  }

 private:
  double walks_owed() const {
    return static_cast<double>(hand_->counts.updates) * walks_an_update_ -
           static_cast<double>(hand_->counts.walks);
  }
  void step() {
    switch (mix_) {
      case Mix::aim7:
        work_beside();
        return lives_.aim7(*hand_);
      case Mix::exim:
        return live_exim();
      case Mix::lmbench:
        return lives_.lmbench(*hand_, [](Process&) {});
      case Mix::exec:
        return lives_.lmbench(*hand_, [this](Process& child) { crowd_->exec(*hand_, child, 1); });
      case Mix::shell:
        return lives_.lmbench(*hand_, [this](Process& child) { lives_.run_shell(*hand_, child); });
      case Mix::trace:
        return player_.play(*hand_);
      case Mix::pair:
        return pair();
      case Mix::batch:
        return batch();
    }
  }
  void work_beside() {
    if (work_ == 0) return;
    if (!other_) other_.emplace();
    other_->run(work_);
  }
  void live_exim() {
    const std::uint64_t message = messages_++;
    spool_->receive(message);
    work_beside();
    lives_.exim(*hand_, [this] {
      while (walks_owed() >= 1)
        lives_.walk(*hand_);
    });
    spool_->deliver(message);
  }
  // One object, again and again.
  void pair() {
    constexpr int kPairs = 32;
    for (int i = 0; i < kPairs; ++i) {
      if constexpr (FileIndex::kReuses) {
        if (own_.empty()) own_.push_back(make(0));
        auto& m = *own_[0];
        crowd_->library().insert(hand_->files, m);
        crowd_->library().remove(hand_->files, m);
        if (i + 1 == kPairs) {
          // It stands in the index when it is retired at the end.
          crowd_->library().insert(hand_->files, m);
          crowd_->library().retire(hand_->files, m);
          own_.clear();
          hand_->counts.updates += 2;
        }
      } else {
        auto* m = make(0);
        crowd_->library().insert(hand_->files, *m);
        crowd_->library().retire(hand_->files, *m);
      }
      hand_->counts.updates += 2;
    }
  }
  // Distinct objects, and a read that must see all; then the same back.
  void batch() {
    for (std::size_t i = 0; i < objects_; ++i) {
      own_.push_back(make(static_cast<std::uint32_t>(i)));
      crowd_->library().insert(hand_->files, *own_.back());
    }
    read_library();
    for (auto* m : own_)
      crowd_->library().retire(hand_->files, *m);
    own_.clear();
    read_library();
    hand_->counts.updates += 2 * objects_;
  }
  void read_library() {
    keep(crowd_->library().walk(hand_->files, 1'000'000'000));
    ++hand_->counts.walks;
  }
  typename FileIndex::Mapping* make(std::uint32_t i) {
    auto* m = new typename FileIndex::Mapping;
    m->pages = {1000 + i, 1000 + i};
    return m;
  }

  Crowd* crowd_;
  Spool* spool_;
  Mix mix_;
  std::size_t objects_;
  int work_;
  std::uint64_t messages_;  // the number of the next one
  double walks_an_update_;
  bool times_waits_;
  Lives<Crowd> lives_;
  std::optional<typename Crowd::Hand> hand_;
  std::vector<typename FileIndex::Mapping*> own_;
  TracePlayer<Crowd> player_;
  std::optional<OtherWork> other_;  // by its thread, if it does any
};

template <class FileIndex, class AnonIndex>
class MapContestantOf : public MapContestant {
  using Crowd = Processes<FileIndex, AnonIndex>;
  using Worker = MapWorker<FileIndex, AnonIndex>;

 public:
  explicit MapContestantOf(const MapSetup& setup) : setup_(setup), spool_(setup.spool) {
    crowd_.emplace(std::max(Crowd::kFiles, setup.trace != nullptr ? setup.trace->files : 0),
                   setup.memory);
    alone([this](typename Crowd::Hand& hand) { crowd_->begin(hand); });
  }

  MapRound run(unsigned number, bool waits) override {
    std::deque<Worker> workers;
    std::vector<Handle> handles;
    for (int i = 0; i < setup_.plan.threads; ++i) {
      workers.emplace_back(*crowd_, spool_, setup_, number * 1000 + static_cast<unsigned>(i),
                           waits);
      handles.push_back({&workers.back()});
    }
    MapRound r;
    const Used used;
    const std::uint64_t ticks_began = ticks();
    r.phase = run_phase(setup_.plan, handles, false, setup_.plan.seconds);
    FileIndex::flush(crowd_->file_shared());
    const std::uint64_t ticks_ended = ticks();
    r.spent = used.until_now();
    const double ticks_per_second =
        static_cast<double>(ticks_ended - ticks_began) / r.spent.seconds;
    alone([&](typename Crowd::Hand& hand) {
      if (setup_.memory) {
        crowd_->check_truncate(hand, [&](auto check) {
          for (Worker& w : workers)
            w.each_living(check);
        });
      }
      for (Worker& w : workers)
        w.end(hand);
    });
    for (Worker& w : workers) {
      r.taken += w.taken;
      for (std::size_t i = 0; i < kClassesOfLocks; ++i)
        r.wait_seconds[i] += static_cast<double>(w.wait_ticks[i]) / ticks_per_second;
    }
    return r;
  }

  void check() override {
    alone([this](typename Crowd::Hand& hand) { crowd_->end(hand); });
    crowd_.reset();
    spool_.check_empty();
  }
  double absorbed() override {
    if constexpr (!FileIndex::kAbsorbs) {
      return -1;
    } else {
      const lockswap::ldu_counts counts = crowd_->file_counts();
      return counts.updates == 0
                 ? 0
                 : static_cast<double>(counts.absorbed) / static_cast<double>(counts.updates);
    }
  }

 private:
  // What a vector can have.
  struct Handle {
    Worker* worker;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    template <class Watch>
    void work(Watch& watch, const std::atomic<bool>& stop) {
      worker->work(watch, stop);
      reads = worker->reads;
      writes = worker->writes;
    }
  };
  template <class F>
  void alone(F f) {
    std::thread([&] {
      typename Crowd::Hand hand(*crowd_);
      f(hand);
    }).join();
  }

  MapSetup setup_;
  Spool spool_;
  std::optional<Crowd> crowd_;
};

template <class FileIndex, class AnonIndex>
std::unique_ptr<MapContestant> maps(const MapSetup& setup) {
  return std::make_unique<MapContestantOf<FileIndex, AnonIndex>>(setup);
}

using FileLock = RwLock<LockClass::file>;
using AnonLock = RwLock<LockClass::anonymous>;
template <Logs kLogs>
using DeferredFile = DeferredIndex<IntervalTree, FileLock, kLogs>;
template <Logs kLogs>
using DeferredAnon = DeferredIndex<Chain, AnonLock, kLogs>;

}  // namespace

std::vector<MapEntrant> map_contest() {
  return {
      {"pldu", maps<DeferredFile<Logs::of_threads>, DeferredAnon<Logs::of_threads>>},
      {"gldu", maps<DeferredFile<Logs::own>, DeferredAnon<Logs::own>>},
      {"stamped", maps<DeferredFile<Logs::stamped>, DeferredAnon<Logs::stamped>>},
      {"paper", maps<DeferredFile<Logs::of_threads>, HarrisIndex<false, UrcuNodes>>},
      {"rwlock", maps<LockedIndex<IntervalTree, FileLock>, LockedIndex<Chain, AnonLock>>},
      {"mutex", maps<LockedIndex<IntervalTree, Mutex<LockClass::file>>,
                     LockedIndex<Chain, Mutex<LockClass::anonymous>>>},
      {"rcu", maps<RcuIndex<LockClass::file>, RcuIndex<LockClass::anonymous>>},
      {"harris", maps<HarrisIndex<true, UrcuNodes>, HarrisIndex<true, UrcuNodes>>},
      {"harris-unordered", maps<HarrisIndex<false, UrcuNodes>, HarrisIndex<false, UrcuNodes>>},
  };
}

void check_all_gone() {
  if (Living::sum() != 0) wrong_result("mappings are left that nobody has");
}

}  // namespace bench
