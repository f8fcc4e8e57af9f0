// Reverse maps on the modelled machine: processes that fork and end as in apps/ldu, and the indexes
// of their mappings: under a lock, with deferred updates, or lists without locks.
//
// The nodes of trees and chains, and all atoms, are charged. A process's own list of its mappings
// is not, since its thread alone has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ldu/chain.h"
#include "ldu/deferred_index.h"
#include "ldu/harris_index.h"
#include "ldu/interval_tree.h"
#include "ldu/lives.h"
#include "ldu/locked_index.h"
#include "ldu/processes.h"
#include "machine.h"
#include "predict/input.h"
#include "predict/operated.h"
#include "predict/workload.h"

namespace lockswap::predict {

// Memory of the modelled machine for nodes that the standard way would take from the real one's. A
// thread takes again what it has given.
struct SeenHome {
  // NOLINTNEXTLINE(misc-new-delete-overloads): the one with a size, below, is its operator delete
  static void* operator new(std::size_t bytes) {
    std::vector<void*>& kept = mine()[bytes];
    if (kept.empty()) return cost::zeroed(bytes);
    void* const p = kept.back();
    kept.pop_back();
    return p;
  }
  static void operator delete(void* p, std::size_t bytes) { mine()[bytes].push_back(p); }

 private:
  using Kept = std::map<std::size_t, std::vector<void*>>;
  static Kept& mine() {
    return cost::PerRun<Kept, cost::kMostThreads>::at(cost::machine.current());
  }
};

struct Seen {
  using Home = SeenHome;
  static void read(const void* p) { cost::machine.access(p, cost::Access::read); }
  static void write(const void* p) { cost::machine.access(p, cost::Access::write); }
};

// Nodes of lists without locks. What is removed isn't used again: a run is too short for most grace
// periods, and readers may still be there.
struct SeenNodes {
  class Link {
   public:
    explicit Link(std::uintptr_t v) : word_(v) {}
    std::uintptr_t load(std::memory_order o) const { return word_.load(o); }
    void store(std::uintptr_t v, std::memory_order o) { word_.store(v, o); }
    bool compare_exchange_strong(std::uintptr_t& seen, std::uintptr_t v, std::memory_order o) {
      return word_.compare_exchange(seen, v, o);
    }
    bool compare_exchange_weak(std::uintptr_t& seen, std::uintptr_t v, std::memory_order o) {
      return word_.compare_exchange(seen, v, o);
    }

   private:
    cost::ModelledAtomic<std::uintptr_t> word_;
  };
  struct Head : SeenHome {
    std::uintptr_t unused[2] = {};  // for liburcu
  };
  struct Reading {
    Reading() {}
  };
  static void attach() {}
  static void barrier() {}
  template <class Node>
  static void free_later(Node&) {}
};

struct LduMachine : StructureMachine {
  static constexpr std::size_t kThreads = cost::kMostThreads;
  static constexpr std::size_t kSlots = 64;
  template <std::size_t kN>
  [[noreturn]] static void fail(const char (&why)[kN]) {
    predict::fail(why);
  }
};

// An index in the modelled memory, wherever its owner is.
template <class Index>
class Placed {
 public:
  using Mapping = typename Index::Mapping;
  using Shared = typename Index::Shared;
  using Hand = typename Index::Hand;
  explicit Placed(Shared& shared) : index_(new (StructureMachine::take<Index>()) Index(shared)) {}
  ~Placed() {
    index_->~Index();
    StructureMachine::give<Index>(index_);
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  static void flush(Shared& shared) { Index::flush(shared); }

  void insert(Hand& hand, Mapping& m) { index_->insert(hand, m); }
  void retire(Hand& hand, Mapping& m) { index_->retire(hand, m); }
  template <class F = bench::NothingElse>
  std::uint64_t walk(Hand& hand, std::uint32_t page, F f = {}) {
    return index_->walk(hand, page, f);
  }

 private:
  Index* index_;
};

// A write is a step in a process's life, and a read finds the mappings of a page.
template <class FileIndex, class AnonIndex>
class ReverseMaps final : public Operated {
  using Crowd = bench::Processes<Placed<FileIndex>, Placed<AnonIndex>>;
  using Hand = typename Crowd::Hand;
  using Process = typename Crowd::Process;

 public:
  void begin(const Workload& workload, int threads) override {
    if (workload.write_share <= 0) fail("reverse maps need a share of writes");
    workload_ = &workload;
    // Neither it nor the hands ever end: their memory goes with the run.
    crowd_ = new (cost::zeroed(sizeof(Crowd))) Crowd(Crowd::kFiles, false);
    Hand& first = *new (cost::zeroed(sizeof(Hand))) Hand(*crowd_);
    crowd_->begin(first);
    threads_.resize(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) {
      auto& lives = threads_[static_cast<std::size_t>(i)].lives;
      lives.emplace(*crowd_, kUsers, threads, static_cast<unsigned>(i));
      if (workload.program.starts_with("lmbench")) lives->settle(first);
      if (workload.program == "aim7") begin_anywhere(*lives, first);
    }
  }
  Did operate(int thread) override {
    Thread& t = threads_[static_cast<std::size_t>(thread)];
    if (t.hand == nullptr) t.hand = new (cost::zeroed(sizeof(Hand))) Hand(*crowd_);
    if (owes_walk(t)) {
      t.lives->walk(*t.hand);
      return Did::read;
    }
    step(*t.lives, *t.hand);
    return Did::write;
  }

 private:
  using Lives = bench::Lives<Crowd>;
  static constexpr std::size_t kUsers = 8;
  struct Thread {
    Hand* hand = nullptr;
    std::optional<Lives> lives;
  };

  // As if the run had begun long ago. With fewer steps, hardly any process would be there yet.
  static void begin_anywhere(Lives& lives, Hand& hand) {
    constexpr int kUntilCrowded = 4 * static_cast<int>(kUsers);
    std::uniform_int_distribution<int> any(kUntilCrowded, 2 * kUntilCrowded);
    for (int n = any(cost::machine.random()); n > 0; --n)
      lives.aim7(hand);
  }
  // Reads are a share of the updates, of which a step has many.
  bool owes_walk(const Thread& t) const {
    const double reads = 1 - workload_->write_share;
    const auto updates = static_cast<double>(t.hand->counts.updates);
    return updates * reads / (1 - reads) - static_cast<double>(t.hand->counts.walks) >= 1;
  }
  void step(Lives& lives, Hand& hand) {
    const std::string& mix = workload_->program;
    if (mix == "aim7") {
      lives.aim7(hand);
    } else if (mix == "exim") {
      lives.exim(hand, [] {});
    } else if (mix == "lmbench") {
      lives.lmbench(hand, [](Process&) {});
    } else if (mix == "lmbench-exec") {
      lives.lmbench(hand, [this, &hand](Process& child) { crowd_->exec(hand, child, 1); });
    } else if (mix == "lmbench-sh") {
      lives.lmbench(hand, [&](Process& child) { lives.run_shell(hand, child); });
    } else {
      fail("there is no mix '" + mix + "'");
    }
  }

  const Workload* workload_ = nullptr;
  Crowd* crowd_ = nullptr;
  std::vector<Thread> threads_;
};

// Appends the combinations of ldubench that the model has.
inline void add_reverse_maps(AllOperated& to) {
  using bench::Logs;
  using Tree = bench::BasicIntervalTree<Seen>;
  using Chain = bench::BasicChain<Seen>;
  using LockedTree = bench::LockedIndex<Tree, RwSpinLock>;
  using LockedChain = bench::LockedIndex<Chain, RwSpinLock>;
  using OfThreads = bench::DeferredIndex<Tree, RwSpinLock, Logs::of_threads, LduMachine>;
  using ChainOfThreads = bench::DeferredIndex<Chain, RwSpinLock, Logs::of_threads, LduMachine>;
  using Own = bench::DeferredIndex<Tree, RwSpinLock, Logs::own, LduMachine>;
  using OwnOfChain = bench::DeferredIndex<Chain, RwSpinLock, Logs::own, LduMachine>;
  using Sorted = bench::HarrisIndex<true, SeenNodes>;
  using Unordered = bench::HarrisIndex<false, SeenNodes>;
  add<ReverseMaps<LockedTree, LockedChain>>(to, "rwlock", "map");
  add<ReverseMaps<OfThreads, ChainOfThreads>>(to, "pldu", "map");
  add<ReverseMaps<Own, OwnOfChain>>(to, "gldu", "map");
  add<ReverseMaps<OfThreads, Unordered>>(to, "paper", "map");
  add<ReverseMaps<Sorted, Sorted>>(to, "harris", "map");
  add<ReverseMaps<Unordered, Unordered>>(to, "harris-unordered", "map");
}

}  // namespace lockswap::predict
