// Cohorting: a lock for each node, and a global one that a node keeps for a while.
//
// Paper: D. Dice, V. Marathe, N. Shavit, "Lock cohorting: a general technique for designing NUMA
//   locks" (PPoPP 2012), section 2.
// Idea: a thread that wants the lock takes the local lock of its node, then the global one. When it
//   releases and another thread of the node waits, it leaves the global lock to that thread and
//   releases only the local one, so lock and data stay in the node's caches. After `kMost`
//   hand-offs in a row it releases both.
//   A trylock or a timed acquisition takes the global lock alone, because a thread that has the
//   local lock and may time out would keep others of its node from the global one.
// State: the global lock, and for each node a local one and `kept`: how many times in a row the
//   node has passed the global lock on; 0: the next holder of the local lock has to acquire the
//   global one. The caller allocates them, and remembers which node's lock the holder has.
// Invariants: only the holder of the local lock changes `kept`, which is 0 while the local lock is
//   free.
// Fairness: the locks' own, between nodes and within one; at most kMost + 1 threads of a node in a
//   row.
// Space: the locks'.
// Deviations: trylocks and timed acquisitions; the paper has none of the former, and locks of its
//   own for the latter. The paper's lock types are combinations such as C-TKT-TKT, which is ours.
// Destroy is safe: the global lock is released last, if at all, so a thread that gets the whole
//   lock gets it by the previous holder's last access.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// A component lock of a cohort lock. Any thread may release the global one.
template <class Lock>
concept CohortLock = requires(Lock& lock, const Lock& glimpse) {
  lock.lock();
  lock.unlock();
  // Called by the holder. Returns whether another thread waits; if so, that thread will not time
  // out.
  { glimpse.contended() } -> std::same_as<bool>;
  { glimpse.idle() } -> std::same_as<bool>;  // whether it is free
};

template <Platform P, CohortLock Global, CohortLock Local, std::uint32_t kMost>
class Cohorting {
 public:
  struct Node {
    Local lock;
    typename P::template atomic<std::uint32_t> kept;

    // Called in a forked child (LockCore). relaxed: fork() orders what threads did.
    void repair_after_fork(bool held) noexcept {
      lock.repair_after_fork(held);
      if (!held) kept.store(0, relaxed);
    }
  };

  static void lock(Global& global, Node& node) noexcept {
    node.lock.lock();
    // relaxed, all of `kept`: the local lock synchronises it.
    if (node.kept.load(relaxed) == 0) global.lock();
    P::check([&global] { return !global.idle(); });
  }
  // Called by the holder, here and below. `node` is its node, or nullptr if it has the global lock
  // alone.
  static void unlock(Global& global, Node* node) noexcept {
    if (node != nullptr) {
      P::check([node] { return !node->lock.idle(); });
      const std::uint32_t kept = node->kept.load(relaxed);
      const bool hands_on = kept < kMost && node->lock.contended();
      node->kept.store(hands_on ? kept + 1 : 0, relaxed);
      node->lock.unlock();
      if (hands_on) return;
    }
    global.unlock();
  }

  // Returns whether another thread waits, which then will not time out.
  static bool contended(const Global& global, const Node* node) noexcept {
    return (node != nullptr && node->lock.contended()) || global.contended();
  }
};

}  // namespace lockswap
