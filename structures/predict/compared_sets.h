// Sets that Read-Log-Update's paper compares with, on the modelled machine: lists of Harris and
// Michael, and lists under RCU, alone or as buckets of a hash table. They are those of
// ../apps/rlu/harris_michael.h and rcu_sets.h, written again for the model's memory.
//
// A removed node is used again only with hazard pointers. Without them it leaks, as in the paper,
// and under RCU a run is too short for most grace periods.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include "machine.h"
#include "multicore/cost/platform.h"
#include "predict/operated.h"
#include "predict/workload.h"

namespace lockswap::predict {

using SetKey = std::uint64_t;

// Every second key is there at first, as in RluSet.
class ComparedSet : public Operated {
 public:
  void begin(const Workload& workload, int threads) override {
    workload_ = &workload;
    threads_ = threads;
    make(static_cast<std::size_t>(workload.buckets));
    for (SetKey key = keys(); key > 0; key -= 2)
      put_first(key - 2);
  }
  Did operate(int) override {
    auto& random = cost::machine.random();
    const SetKey key = std::uniform_int_distribution<SetKey>(0, keys() - 1)(random);
    if (!std::bernoulli_distribution(workload_->write_share)(random)) {
      contains(key);
      return Did::read;
    }
    if (std::bernoulli_distribution(0.5)(random)) {
      insert(key);
    } else {
      remove(key);
    }
    return Did::write;
  }

 protected:
  int threads() const { return threads_; }
  std::size_t bucket_of(SetKey key) const {
    return key / 2 % static_cast<std::size_t>(workload_->buckets);
  }
  static void charge(const void* p) { cost::machine.access(p, cost::Access::read); }

 private:
  SetKey keys() const { return 2 * static_cast<SetKey>(workload_->items); }
  virtual void make(std::size_t buckets) = 0;
  // In front of all others in its bucket, before the run.
  virtual void put_first(SetKey key) = 0;
  virtual bool contains(SetKey key) = 0;
  virtual bool insert(SetKey key) = 0;
  virtual bool remove(SetKey key) = 0;

  const Workload* workload_ = nullptr;
  int threads_ = 0;
};

// Says which nodes a thread looks at, so that others don't use them again (hazard.h).
template <class Node>
class ModelledHazards {
 public:
  static void protect(int which, const Node* n) {
    Modelled::local<Record>().pointers[which].store(n, seq_cst);
  }
  static void retire(Node* n, int threads) {
    auto& retired = Modelled::local<Record>().retired;
    retired.push_back(n);
    if (retired.size() >= kBatch) scan(retired, threads);
  }

 private:
  static constexpr std::size_t kBatch = 64;
  struct alignas(128) Record {
    cost::ModelledAtomic<const Node*> pointers[2];
    alignas(128) std::vector<Node*> retired;
  };
  static void scan(std::vector<Node*>& retired, int threads) {
    StructureMachine::full_fence();
    std::vector<const Node*> seen;
    for (int t = 0; t < threads; ++t) {
      for (const auto& p : cost::PerRun<Record, cost::kMostThreads>::at(t).pointers)
        seen.push_back(p.load(acquire));
    }
    std::erase_if(retired, [&seen](Node* n) {
      if (std::ranges::find(seen, n) != seen.end()) return false;
      StructureMachine::give<Node>(n);
      return true;
    });
  }
};

template <bool kHazards>
class HarrisSet final : public ComparedSet {
 public:
  // When the run is over.
  bool is_in_order() const {
    for (const Link* head : heads_) {
      for (const Node* n = at(head->peek()); n != nullptr; n = at(n->next.peek())) {
        const Node* const next = at(n->next.peek());
        if (next != nullptr && n->key >= next->key) return false;
      }
    }
    return true;
  }

 private:
  using Word = std::uintptr_t;
  using Link = cost::ModelledAtomic<Word>;
  struct Node {
    SetKey key = 0;
    Link next{};
  };
  using Hazards = ModelledHazards<Node>;
  struct Place {
    Link* link;
    Word at;  // what it links to: the first node whose key is not less
    bool found;
  };
  static constexpr Word kMark = 1;  // in the link of a node that is removed
  static Node* at(Word word) { return reinterpret_cast<Node*>(word & ~kMark); }

  void make(std::size_t buckets) override {
    heads_.clear();
    for (std::size_t b = 0; b < buckets; ++b)
      heads_.push_back(new (StructureMachine::take<Link>()) Link{});
  }
  static Node* made(SetKey key, Word next) {
    return new (StructureMachine::take<Node>()) Node{key, Link{next}};
  }
  void put_first(SetKey key) override {
    Link*& head = heads_[bucket_of(key)];
    head = new (head) Link{reinterpret_cast<Word>(made(key, head->peek()))};
  }

  bool contains(SetKey key) override {
    if (kHazards) return find(key).found;
    const Node* n = at(heads_[bucket_of(key)]->load(acquire));  // also over removed nodes
    while (n != nullptr && key_of(n) < key)
      n = at(n->next.load(acquire));
    return n != nullptr && n->key == key && (n->next.load(acquire) & kMark) == 0;
  }
  bool insert(SetKey key) override {
    Node* fresh = nullptr;
    for (;;) {
      Place p = find(key);
      if (p.found) {
        if (fresh != nullptr) StructureMachine::give<Node>(fresh);
        return false;
      }
      if (fresh == nullptr) fresh = made(key, 0);
      fresh->next.store(p.at, relaxed);
      if (p.link->compare_exchange(p.at, reinterpret_cast<Word>(fresh), acq_rel)) return true;
    }
  }
  bool remove(SetKey key) override {
    for (;;) {
      Place p = find(key);
      if (!p.found) return false;
      Node* const gone = at(p.at);
      Word next = gone->next.load(acquire);
      if ((next & kMark) != 0) continue;
      if (!gone->next.compare_exchange(next, next | kMark, acq_rel)) continue;
      if (p.link->compare_exchange(p.at, next, acq_rel)) {
        retire(gone);
      } else {
        find(key);  // unlinks it
      }
      return true;
    }
  }

  static SetKey key_of(const Node* n) {
    charge(n);
    return n->key;
  }
  void retire(Node* n) {
    if (kHazards) Hazards::retire(n, threads());
  }
  Place find(SetKey key) {
    for (;;) {
      Place p{heads_[bucket_of(key)], 0, false};
      if (find_from(p, key)) return p;
    }
  }
  // Unlinks the removed nodes on its way. Returns false if something has changed behind it.
  bool find_from(Place& p, SetKey key) {
    p.at = p.link->load(acquire);
    for (int hazard = 0; at(p.at) != nullptr; hazard ^= 1) {
      if (!pass_removed(p, hazard)) return false;
      Node* const n = at(p.at);
      if (n == nullptr) return true;
      if (const SetKey seen = key_of(n); seen >= key) {
        p.found = seen == key;
        return true;
      }
      p.link = &n->next;
      p.at = n->next.load(acquire);
      if ((p.at & kMark) != 0) return false;
    }
    return true;
  }
  bool pass_removed(Place& p, int hazard) {
    while (Node* const n = at(p.at)) {
      if (kHazards) {
        Hazards::protect(hazard, n);
        if (p.link->load(seq_cst) != p.at) return false;
      }
      const Word next = n->next.load(acquire);
      if ((next & kMark) == 0) return true;
      if (!p.link->compare_exchange(p.at, next & ~kMark, acq_rel)) return false;
      retire(n);
      p.at = next & ~kMark;
    }
    return true;
  }

  std::vector<Link*> heads_;
};

// A writer takes its bucket's lock; a reader notes in its own word that it reads, as in liburcu
// with barriers by the kernel. Who waits for readers isn't modelled: that is another thread.
class RcuSet final : public ComparedSet {
 public:
  // When the run is over.
  bool is_in_order() const {
    for (const Bucket* bucket : buckets_) {
      for (const Node* n = bucket->first.peek(); n != nullptr; n = n->next.peek()) {
        if (const Node* const next = n->next.peek(); next != nullptr && n->key >= next->key)
          return false;
      }
    }
    return true;
  }

 private:
  struct Node;
  using Link = cost::ModelledAtomic<Node*>;
  struct Node {
    SetKey key = 0;
    Link next{};
  };
  struct Bucket {
    Link first{};
    SpinLock lock;
  };
  struct alignas(128) Counter {
    cost::ModelledAtomic<std::uint64_t> word{};
  };
  class Reading {
   public:
    Reading() { mine().store(Modelled::global<Counter>().word.load(relaxed) + 1, relaxed); }
    ~Reading() { mine().store(0, release); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    static cost::ModelledAtomic<std::uint64_t>& mine() { return Modelled::local<Counter>().word; }
  };
  class Writing {
   public:
    explicit Writing(Bucket& bucket) : lock_(bucket.lock) { lock_.lock(); }
    ~Writing() { lock_.unlock(); }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    SpinLock& lock_;
  };

  void make(std::size_t buckets) override {
    buckets_.clear();
    for (std::size_t b = 0; b < buckets; ++b)
      buckets_.push_back(new (StructureMachine::take<Bucket>()) Bucket{});
  }
  static Node* made(SetKey key, Node* next) {
    return new (StructureMachine::take<Node>()) Node{key, Link{next}};
  }
  void put_first(SetKey key) override {
    Link& first = buckets_[bucket_of(key)]->first;
    Node* const node = made(key, first.peek());
    new (&first) Link{node};
  }

  bool contains(SetKey key) override {
    const Reading here;
    const Node* n = buckets_[bucket_of(key)]->first.load(acquire);
    while (n != nullptr && key_of(n) < key)
      n = n->next.load(acquire);
    return n != nullptr && n->key == key;
  }
  bool insert(SetKey key) override {
    Bucket& bucket = *buckets_[bucket_of(key)];
    const Writing alone(bucket);
    Link* const link = link_to(bucket, key);
    Node* const next = link->load(relaxed);
    if (next != nullptr && next->key == key) return false;
    Node* const fresh = made(key, next);
    cost::machine.access(fresh, cost::Access::write);
    link->store(fresh, release);
    return true;
  }
  bool remove(SetKey key) override {
    Bucket& bucket = *buckets_[bucket_of(key)];
    const Writing alone(bucket);
    Link* const link = link_to(bucket, key);
    const Node* const gone = link->load(relaxed);
    if (gone == nullptr || gone->key != key) return false;
    link->store(gone->next.load(relaxed), release);
    return true;
  }

  static SetKey key_of(const Node* n) {
    charge(n);
    return n->key;
  }
  // The link to the first node whose key is not less.
  static Link* link_to(Bucket& bucket, SetKey key) {
    Link* link = &bucket.first;
    for (Node* n = link->load(relaxed); n != nullptr && key_of(n) < key; n = link->load(relaxed))
      link = &n->next;
    return link;
  }

  std::vector<Bucket*> buckets_;
};

}  // namespace lockswap::predict
