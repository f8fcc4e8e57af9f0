// The modelled machine as the structures' headers ask for it: what NativeMachine is to the real
// one. Locks in page tables are plain spin locks here, as a kernel's. The reader-writer lock is one
// with a count of readers in its word, as a kernel's semaphore. Range locks are the shipped ones.
//
// What the model doesn't see: memory that the headers reach through the standard library, such as
// the tree of regions under a lock. Atoms, data and the nodes of the Bonsai tree are charged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "locks/rw/pf-t.h"
#include "multicore/cost/platform.h"
#include "range/list.h"
#include "range/stages.h"
#include "range/tree.h"
#include "wait/spin.h"

namespace lockswap::predict {

using cost::Modelled;

// Waiters poll the word; of those that see it free one gets it.
class SpinLock {
 public:
  void lock() {
    while (word_.exchange(1, acquire) != 0)
      Modelled::await(Pause::spin, word_, relaxed, [](std::uint32_t v) { return v == 0; });
  }
  void unlock() { word_.store(0, release); }

 private:
  Modelled::atomic<std::uint32_t> word_{};
};

class RwSpinLock {
 public:
  void lock() { core_.write_lock(); }
  bool try_lock() { return core_.try_write_lock(); }
  void unlock() { core_.write_unlock(); }
  void lock_shared() {
    if (const std::uint32_t attempt = core_.read_arrive(); attempt != 0)
      core_.read_wait(attempt, nullptr);
  }
  void unlock_shared() { core_.read_unlock(); }

 private:
  PfT<Modelled, Spin<Modelled>> core_{};
};

struct StructureMachine {
  template <class T>
  using atomic = cost::ModelledAtomic<T>;
  template <class T>
  using plain = cost::ModelledPlain<T>;
  static constexpr int kLevels = 4;
  static constexpr int kTableBits = 9;
  static constexpr std::size_t kGarbage = 64;

  static bool prepare_heavy_fence() { return true; }
  static bool heavy_fence() {
    Modelled::heavy_fence();
    return true;
  }
  static void light_fence() {}
  static void full_fence() { cost::machine.spend(cost::machine.costs().fence); }
  static void step_aside(unsigned = 0) { Modelled::relax(); }

  // A thread takes again what it has given, as from the real machine's lists.
  template <class T>
  static void* take() {
    auto& kept = mine<T>();
    if (kept.empty()) return cost::zeroed(sizeof(T));
    void* const p = kept.back();
    kept.pop_back();
    return p;
  }
  template <class T>
  static void give(void* p) {
    mine<T>().push_back(p);
  }
  template <class T>
  static void forbid(T*) {}
  template <class T>
  static void permit(T*) {}

  using Lock = SpinLock;
  using ChangeLock = SpinLock;
  using RwLock = RwSpinLock;
  using IndexLock = RwSpinLock;

  template <class L>
  class RangesOf {
   public:
    typename L::Node* take(std::uint64_t start, std::uint64_t end, bool shared) {
      typename L::Node* node = nullptr;
      acquire_range(lock_, {start, end, shared, false, nullptr},
                    RangeOptions{.fair = true, .writers_first = false}, node);
      return node;
    }
    void leave(typename L::Node* node) { release_range(lock_, node); }

   private:
    L lock_{};
  };
  using ListLock = RangesOf<ListRw<Modelled, Spin<Modelled>>>;
  using TreeLock = RangesOf<KernelRw<Modelled, Spin<Modelled>>>;
  class Range {
   public:
    template <class L>
    Range(RangesOf<L>& lock, std::uint64_t start, std::uint64_t end, bool shared)
        : lock_(&lock), leave_([](void* of, void* node) {
            static_cast<RangesOf<L>*>(of)->leave(static_cast<typename L::Node*>(node));
          }) {
      node_ = lock.take(start, end, shared);
    }
    ~Range() { leave_(lock_, node_); }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    void* lock_;
    void (*leave_)(void*, void*);
    void* node_ = nullptr;
  };

  template <class Word>
  static void take_when_zero(Word& word, std::uint64_t value) {
    for (std::uint64_t zero = 0; !word.compare_exchange(zero, value, acquire); zero = 0)
      Modelled::await(Pause::spin, word, relaxed, [](std::uint64_t v) { return v == 0; });
  }

 private:
  template <class T>
  struct Kept {
    std::vector<void*> all;
  };
  template <class T>
  static std::vector<void*>& mine() {
    return cost::PerRun<Kept<T>, cost::kMostThreads>::at(cost::machine.current()).all;
  }
};

}  // namespace lockswap::predict
