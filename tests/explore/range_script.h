// What the threads of a range lock's case do, as words:
//
//   E0-4 S0-4        acquire [0, 4) exclusive, shared; then write, read the data of each unit
//   tryE timedE lateE farE (S)   the other forms, as in script.h
//   u U              release this thread's newest, oldest range, after another look at its data.
//                    A range that was not had is skipped
//   down             the newest range becomes shared
//   up               it becomes exclusive if it can (without a result said, it may fail)
//   +1 ?1            set event 1; wait for event 1 (release, acquire: the program's own order)
//   nap              sleeps until no other thread can go on
//   2E0-4 ...        of the second lock; `down`, `up` and `u` find out themselves
//   exit             the thread ends, another begins in its place
//   fork             as in script.h; after `|`: the other threads in the child
//   word=0 =dead =busy =late    the result that it must have; without one, a try or timed form may
//                    fail, and one that waits may not
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "multicore/explore/plain.h"
#include "multicore/explore/platform.h"
#include "range/request.h"
#include "range/stages.h"

namespace lockswap::explore {

inline constexpr std::uint64_t kUnits = 12;
inline constexpr int kLocks = 2;

// A range lock as the cases see it.
class RangeUnderTest {
 public:
  virtual ~RangeUnderTest() = default;
  virtual void begin() = 0;  // new locks
  virtual int acquire(int which, const RangeRequest& r, void*& handle) = 0;
  virtual void release(int which, void* handle) = 0;
  virtual void downgrade(int which, void* handle) = 0;
  virtual int try_upgrade(int which, void* handle) = 0;
  virtual bool busy(int which) = 0;
  virtual bool can_share() const = 0;
  // At the end: whether nodes are in no thread's supply any more.
  virtual bool loses_nodes() { return false; }
};

// Lock is one of range/.
template <class Lock>
class RangeLockUnderTest final : public RangeUnderTest {
  using Node = typename Lock::Node;

 public:
  explicit RangeLockUnderTest(RangeOptions options) : options_(options) {}
  void begin() override {
    for (auto& bytes : locks_)
      begin_one(*new (bytes) Lock{});
  }
  int acquire(int which, const RangeRequest& r, void*& handle) override {
    Node* n = nullptr;
    const int result = acquire_range(lock(which), r, options_, n);
    handle = n;
    return result;
  }
  void release(int which, void* handle) override {
    release_range(lock(which), static_cast<Node*>(handle));
  }
  void downgrade(int which, void* handle) override {
    if constexpr (Lock::kCanShare) lock(which).downgrade(static_cast<Node*>(handle));
  }
  int try_upgrade(int which, void* handle) override {
    if constexpr (requires(Lock & l, Node * n) { l.try_upgrade(n); }) {
      return lock(which).try_upgrade(static_cast<Node*>(handle));
    }
    return ENOTSUP;
  }
  bool busy(int which) override { return lock(which).busy(); }
  bool can_share() const override { return Lock::kCanShare; }
  bool loses_nodes() override {
    if constexpr (requires { typename Lock::Nodes::Supply; }) {
      using Nodes = typename Lock::Nodes;
      const typename Nodes::Lease lease;
      auto& mine = *lease.get();
      std::uint64_t found = 0;
      for (auto* w = Nodes::epochs().first(); w != nullptr; w = w->next) {
        const auto& supply = static_cast<const typename Nodes::Supply&>(*w);
        if (&supply == &mine) continue;
        found += supply.ready.count + supply.open.count + supply.closed.count;
      }
      // The thread's own, and those that all threads share: until more have to be mapped.
      const std::uint64_t nodes = Nodes::counts().nodes;
      for (; Nodes::take(mine) != nullptr && Nodes::counts().nodes == nodes; ++found) {}
      return found != nodes;
    }
    return false;
  }

 private:
  static void begin_one(Lock& l) {
    if constexpr (requires { l.begin(2); }) l.begin(2);  // units of a segment
  }
  Lock& lock(int which) { return *std::launder(reinterpret_cast<Lock*>(locks_[which])); }
  RangeOptions options_;
  alignas(Lock) std::byte locks_[kLocks][sizeof(Lock)];
};

// `threads` as above. The lock lives on. `gates_open`: when no thread can go on, a waiter opens the
// gate of range/queue.h; otherwise the gate stays closed, and that is a deadlock.
Scenario range_scenario(RangeUnderTest& lock, const std::vector<std::string>& threads,
                        bool gates_open);

}  // namespace lockswap::explore
