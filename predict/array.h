// The array of arrbench (apps/arrbench.cpp) under a range lock of range_list.def.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "multicore/cost/platform.h"
#include "predict/guarded.h"
#include "predict/operated.h"
#include "predict/workload.h"
#include "range/stages.h"

namespace lockswap::predict {

template <RangeLock L>
class LockedArray final : public Operated {
  using Node = typename L::Node;

 public:
  void begin(const Workload& workload, int threads) override {
    workload_ = &workload;
    threads_ = static_cast<std::uint32_t>(threads);
    lock_ = new (cost::zeroed(sizeof(L))) L{};
    if constexpr (SegmentedRangeLock<L>) lock_->begin(1);
    slots_ = std::vector<Slot>(kSlots);
  }
  Did operate(int thread) override {
    const auto [begin, end] = range(static_cast<std::uint32_t>(thread));
    const bool writes = std::bernoulli_distribution(workload_->write_share)(cost::machine.random());
    Node* node = nullptr;
    const int result = acquire_range(*lock_, {begin, end, L::kCanShare && !writes, false, nullptr},
                                     RangeOptions{.fair = true, .writers_first = false}, node);
    if (result != 0) die("has refused a range");
    const std::uint32_t rounds = workload_->ranges == Ranges::disjoint ? threads_ : 1;
    visit(begin, end, rounds, writes);
    release_range(*lock_, node);
    return writes ? Did::write : Did::read;
  }

 private:
  static constexpr std::uint32_t kSlots = 256;  // each in its own cache line
  struct Slot {
    Line line;
    int inside = 0;  // readers; -1: a writer
  };
  struct Pair {
    std::uint32_t begin, end;
  };

  Pair range(std::uint32_t thread) const {
    if (workload_->ranges == Ranges::full) return {0, kSlots};
    if (workload_->ranges == Ranges::disjoint)
      return {thread * kSlots / threads_, (thread + 1) * kSlots / threads_};
    std::uniform_int_distribution<std::uint32_t> any(0, kSlots - 1);
    const std::uint32_t a = any(cost::machine.random()), b = any(cost::machine.random());
    return {std::min(a, b), std::max(a, b) + 1};
  }
  // Checks exclusion, because a lock that lets threads in together would look fast.
  void visit(std::uint32_t begin, std::uint32_t end, std::uint32_t rounds, bool writes) {
    for (std::uint32_t i = begin; i < end; ++i) {
      int& inside = slots_[i].inside;
      if (writes ? inside != 0 : inside < 0) die("let a thread in beside a writer");
      inside = writes ? -1 : inside + 1;
    }
    for (std::uint32_t n = 0; n < rounds; ++n) {
      for (std::uint32_t i = begin; i < end; ++i)
        cost::machine.access(&slots_[i].line, writes ? cost::Access::write : cost::Access::read);
    }
    for (std::uint32_t i = begin; i < end; ++i)
      slots_[i].inside = writes ? 0 : slots_[i].inside - 1;
  }
  [[noreturn]] static void die(const char* what) {
    std::fprintf(stderr, "lockswap-model: the range lock %s\n", what);
    std::abort();
  }

  const Workload* workload_ = nullptr;
  std::uint32_t threads_ = 0;
  L* lock_ = nullptr;
  std::vector<Slot> slots_;
};

}  // namespace lockswap::predict
