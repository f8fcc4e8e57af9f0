// Sorted lists, alone or as buckets of a hash table, under Read-Log-Update (src/rlu) on the
// modelled machine. The library's own lists call its exported functions, which are the real
// machine's, so the lists are written again here, as lockswap/rlu_chain.hpp has them: a link is
// dereferenced, an insertion locks the node before, a removal that and the node.
//
// What a thread reads and writes in nodes and copies is charged; so is the word of each node, which
// is on the same line. The library's write-back copies bytes, and its store to that word moves the
// line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <vector>

#include "machine.h"
#include "multicore/cost/platform.h"
#include "predict/operated.h"
#include "predict/workload.h"
#include "rlu/section.h"

namespace lockswap::predict {

struct RluNode {
  rlu::Header<Modelled> header{};
  struct Body {
    Body* next = nullptr;
    std::uint64_t key = 0;
  } body;
};
static_assert(offsetof(RluNode, body) == sizeof(rlu::Header<Modelled>));

struct RluHeap {
  static void give(void* memory) { StructureMachine::give<RluNode>(memory); }
};

// `kDeferred` commits may wait to take effect together.
template <std::uint32_t kDeferred>
class RluSet final : public Operated {
  using Section = rlu::Section<Modelled, RluHeap>;
  using Body = RluNode::Body;

 public:
  void begin(const Workload& workload, int threads) override {
    workload_ = &workload;
    fresh_.assign(static_cast<std::size_t>(threads), nullptr);
    heads_.clear();
    const auto buckets = static_cast<std::uint64_t>(workload.buckets);
    for (std::uint64_t b = 0; b < buckets; ++b) {
      heads_.push_back(made());
      Body* last = heads_.back();
      // Every second key is there at first.
      for (std::uint64_t key = b * 2; key < keys(); key += buckets * 2) {
        last->next = made();
        last = last->next;
        last->key = key;
      }
    }
  }
  // When the run is over, and nothing of what it has done is counted any more.
  bool is_in_order() const {
    for (const Body* n : heads_) {
      for (n = n->next; n != nullptr && n->next != nullptr; n = n->next) {
        if (n->key >= n->next->key) return false;
      }
    }
    return true;
  }
  Did operate(int thread) override {
    auto& random = cost::machine.random();
    const std::uint64_t key = std::uniform_int_distribution<std::uint64_t>(0, keys() - 1)(random);
    if (!std::bernoulli_distribution(workload_->write_share)(random)) {
      Section::begin();
      find(key);
      Section::end();
      return Did::read;
    }
    const bool inserts = std::bernoulli_distribution(0.5)(random);
    update(fresh_[static_cast<std::size_t>(thread)], key, inserts);
    return Did::write;
  }

 private:
  struct Place {
    Body* before;
    Body* at;
    bool found;
  };

  std::uint64_t keys() const { return 2 * static_cast<std::uint64_t>(workload_->items); }
  static Body* made() {
    auto* const node = new (StructureMachine::take<RluNode>()) RluNode{};
    node->header.size = sizeof(Body);
    return &node->body;
  }
  static void charge(const Body* body, cost::Access how) { cost::machine.access(body, how); }
  static Body* seen(Body* body) { return static_cast<Body*>(Section::dereference(body)); }

  Place find(std::uint64_t key) {
    Body* before = seen(heads_[key / 2 % heads_.size()]);
    charge(before, cost::Access::read);
    Body* at = seen(before->next);
    while (at != nullptr) {
      charge(at, cost::Access::read);
      if (at->key >= key) break;
      before = at;
      at = seen(at->next);
    }
    return {before, at, at != nullptr && at->key == key};
  }
  // Again and again until no other thread has what it must lock. A node stays the thread's until
  // it has been inserted.
  void update(Body*& fresh, std::uint64_t key, bool inserts) {
    if (inserts && fresh == nullptr) fresh = made();
    for (;;) {
      Section::begin();
      if (kDeferred > 1) Section::defer(kDeferred);
      const Place p = find(key);
      const bool changes = p.found != inserts;
      const bool done = !changes || (inserts ? insert(p, fresh, key) : remove(p));
      if (done) {
        Section::end();
        if (changes && inserts) fresh = nullptr;
        return;
      }
      Section::abort();
    }
  }
  static bool insert(const Place& p, Body* fresh, std::uint64_t key) {
    auto* const before = static_cast<Body*>(Section::try_lock(p.before));
    if (before == nullptr) return false;
    charge(fresh, cost::Access::write);
    fresh->key = key;
    fresh->next = static_cast<Body*>(Section::actual(p.at));
    charge(before, cost::Access::write);
    before->next = fresh;
    return true;
  }
  static bool remove(const Place& p) {
    auto* const before = static_cast<Body*>(Section::try_lock(p.before));
    if (before == nullptr) return false;
    auto* const at = static_cast<Body*>(Section::try_lock_const(p.at));
    if (at == nullptr) return false;
    charge(before, cost::Access::write);
    before->next = at->next;
    return Section::free(at) == rlu::Result::done;
  }

  const Workload* workload_ = nullptr;
  std::vector<Body*> heads_;
  std::vector<Body*> fresh_;
};

}  // namespace lockswap::predict
