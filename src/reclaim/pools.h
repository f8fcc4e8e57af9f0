// Pools of nodes for lock-free lists, from which each thread has its own supply.
//
// Paper: the one of epoch.h, section 4.4.
// Idea: a thread takes nodes from its `ready` pool. The nodes that it removes from lists go to
//   `open`. When `ready` is empty, or `open` is large, `open` becomes a closed period; when that is
//   over, its nodes are ready.
//
//     a node goes              when
//     ready  -> a list         the thread acquires (take, take_ready)
//     a list -> open           the thread has removed it (retire)
//     open   -> closed         the last period is over, and nodes are needed (recycle)
//     closed -> ready          the period is over; a pinned node goes back to open
//     ready  -> spare          the thread has more than 2 kN ready nodes
//     spare  -> ready          the thread has too few
//
// State: each thread has three stacks of nodes (node_stack.h), and the period of `closed`. All
//   threads share `spare`, which contains batches of kN nodes.
// Invariants: a node is in one stack, or in one list, or held. No walk that began after the period
//   of `closed` meets a node there. Nobody reads a node in `ready` or `spare`.
// Cost: take and give are a pop and a push. About once in kN takes, or retirements, a thread checks
//   each other thread.
// Space: a thread starts with kN nodes. If recycling leaves fewer than kN/2 in `ready`, it is
//   filled up to kN, from `spare` or by mapping; if it leaves more than 2 kN, batches go to `spare`
//   until there are fewer. `open` is also recycled at 2 kN nodes, since a thread may never run out
//   of ready ones: its own may always come straight back, while it removes those of others. While a
//   period is not over, take() maps more nodes, at most as many as are removed during the slowest
//   walk. If a thread is preempted or stopped in a walk that number grows: see PoolCounts.
// Deviations: the allocator never waits. A trimmed node goes to other threads, not to the system:
//   its memory stays a node for ever, so a late wake of its address does no harm.
// Pins: a node with a sleeper is kept until the sleeper has seen that it may go on. Pins are only
//   taken during walks, so after a period there are no new ones.
// Threads: a thread's supply is a block that the next thread takes over. In a forked child the
//   forking thread frees the other threads' supplies for new ones (forked()).
#pragma once

#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "reclaim/epoch.h"
#include "reclaim/node_stack.h"

namespace lockswap {

// Counts over all pools of a process, each a racy snapshot.
struct PoolCounts {
  std::uint64_t nodes;     // nodes that were mapped
  std::uint64_t growths;   // how often more were mapped, in addition to each thread's first
  std::uint64_t blocked;   // growths because a walk took so long
  std::uint64_t supplies;  // threads' supplies, in use or waiting for a thread
};

template <Platform P, PooledNode T, std::uint32_t kN = 128>
class Pools {
  using Stack = NodeStack<T>;

 public:
  struct Supply : Walker<P> {
    alignas(64) Stack ready;
    Stack open;
    Stack closed;
    Period<P> period;               // the period of `closed`
    std::uint32_t enough = 2 * kN;  // when this many are in `open`, they are checked
  };

  // Returns the calling thread's supply, or nullptr.
  static Supply* mine() noexcept { return local().supply; }

  // The calling thread's supply, created if there is none. The thread keeps it until it exits, or
  // until this object is destroyed if no exit hook can be had.
  class Lease {
   public:
    Lease() noexcept : supply_(mine()) {
      if (supply_ != nullptr && P::is_process(supply_->process.load(relaxed))) [[likely]]
        return;
      if (supply_ != nullptr) {
        forked();
      } else {
        supply_ = attach();
      }
    }
    ~Lease() {
      if (supply_ != nullptr && !local().kept) detach();
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Supply* get() const noexcept { return supply_; }

   private:
    Supply* supply_;
  };

  static Epochs<P>& epochs() noexcept { return shared().epochs; }

  // Returns a new node, or nullptr if there is no memory. Not to be called in a walk. Never waits.
  static T* take(Supply& me) noexcept {
    recycle_if_many(me);
    if (me.ready.empty() && !refill(me)) return nullptr;
    return take_ready(me);
  }
  // Returns a ready node, or nullptr if there is none.
  static T* take_ready(Supply& me) noexcept {
    if (me.ready.empty()) return nullptr;
    T* n = me.ready.pop();
    P::permit(n);
    return n;
  }
  // Gives back a node from take() that no other thread can have seen.
  static void give(Supply& me, T* n) noexcept {
    P::forbid(n);
    me.ready.push(n);
  }
  // Called by the thread that has removed the node from a list.
  static void retire(Supply& me, T* n) noexcept { me.open.push(n); }
  // Called by a thread that retires without taking, but not during a walk. Never waits.
  static void recycle_if_many(Supply& me) noexcept {
    if (me.open.count > me.enough) [[unlikely]]
      recycle_and_trim(me);
  }

  // Called in a forked child, by its only thread, before or at its next use. The other threads'
  // supplies become free for new threads. Their walks are over.
  static void forked() noexcept {
    Supply* me = mine();
    const std::uint64_t here = P::process();
    // relaxed: fork() makes visible what other threads did before it.
    if (me != nullptr) me->process.store(here, relaxed);
    for (Walker<P>* w = epochs().first(); w != nullptr; w = w->next) {
      const std::uint64_t of = w->process.load(relaxed);
      if (of == 0 || of == here) continue;
      auto* former = static_cast<Supply*>(w);
      for (Stack* s : {&former->ready, &former->open, &former->closed})
        s->recount();
      w->began.store(0, relaxed);
      w->process.store(0, release);  // pairs with attach()
    }
  }

  static PoolCounts counts() noexcept {
    const Shared& s = shared();
    PoolCounts c{};
    // relaxed: statistics; they order nothing
    c.nodes = s.mapped.load(relaxed);
    c.growths = s.growths.load(relaxed);
    c.blocked = s.blocked.load(relaxed);
    for (const Walker<P>* w = epochs().first(); w != nullptr; w = w->next)
      ++c.supplies;
    return c;
  }

 private:
  struct Shared {
    Epochs<P> epochs{};
    SpareBatches<P, T, kN> spare{};
    typename P::template atomic<std::uint64_t> mapped{};
    typename P::template atomic<std::uint64_t> growths{};
    typename P::template atomic<std::uint64_t> blocked{};
  };
  struct Local {
    Supply* supply = nullptr;
    bool kept = false;  // until the exit hook gives it back
  };
  struct Block {  // what a new thread gets
    Supply supply;
    T nodes[kN];
  };

  static Shared& shared() noexcept { return P::template global<Shared>(); }
  static Local& local() noexcept { return P::template local<Local>(); }

  // --- when `ready` is empty
  [[gnu::noinline]] static bool refill(Supply& me) noexcept {
    recycle_and_trim(me);
    if (me.ready.count >= (kN + 1) / 2) return true;
    const bool waits = !me.closed.empty();
    return shared().spare.take(me.ready) || grow(me.ready, waits) || !me.ready.empty();
  }
  [[gnu::noinline]] static void recycle_and_trim(Supply& me) noexcept {
    recycle(me);
    // If a walk takes long, the next check comes when that many more nodes have been retired.
    me.enough = me.open.count + 2 * kN;
    if (me.ready.count <= 2 * kN) return;
    while (me.ready.count >= 2 * kN)
      shared().spare.put(me.ready);
  }

  // Makes the closed period's nodes ready if no walk is that old. If none is closed, closes one.
  static void recycle(Supply& me) noexcept {
    if (me.closed.empty()) {
      if (me.open.empty()) return;
      // A fork here leaks the nodes, which are in no stack. The period is set first, so that no
      // node is in a period that ended before.
      me.period = epochs().close();
      signal_fence();
      const Stack all = me.open;
      me.open = Stack{};
      signal_fence();
      me.closed = all;
    }
    if (!epochs().is_over(me.period, me)) return;
    while (!me.closed.empty()) {
      T* n = me.closed.top;
      const bool pinned = n->pinned();
      me.closed.move_one_to(pinned ? me.open : me.ready);
      if (!pinned) P::forbid(n);
    }
  }

  // Maps as many nodes as the stack lacks to kN.
  static bool grow(Stack& s, bool blocked) noexcept {
    const std::uint32_t n = kN - s.count;
    auto* nodes = static_cast<T*>(P::map(n * sizeof(T)));
    if (nodes == nullptr) return false;
    shared().growths.fetch_add(1, relaxed);  // relaxed, both: statistics
    if (blocked) shared().blocked.fetch_add(1, relaxed);
    add_nodes(s, nodes, n);
    return true;
  }
  static void add_nodes(Stack& s, T* nodes, std::uint32_t n) noexcept {
    for (std::uint32_t i = 0; i < n; ++i) {
      T* node = new (nodes + i) T{};
      P::forbid(node);
      s.push(node);
    }
    shared().mapped.fetch_add(n, relaxed);  // relaxed: a statistic
  }

  // --- threads
  [[gnu::noinline]] static Supply* attach() noexcept {
    Supply* s = adopt();
    if (s == nullptr) s = make();
    if (s == nullptr) return nullptr;
    local() = {s, P::on_thread_exit(&at_thread_exit)};
    return s;
  }
  static Supply* adopt() noexcept {
    const std::uint64_t here = P::process();
    for (Walker<P>* w = epochs().first(); w != nullptr; w = w->next) {
      std::uint64_t free = 0;
      // acquire: makes the stacks visible; pairs with detach() and forked().
      if (w->process.load(relaxed) == 0 && w->process.compare_exchange(free, here, acquire)) {
        return static_cast<Supply*>(w);
      }
    }
    return nullptr;
  }
  static Supply* make() noexcept {
    auto* block = static_cast<Block*>(P::map(sizeof(Block)));
    if (block == nullptr) return nullptr;
    auto* s = new (&block->supply) Supply{};
    add_nodes(s->ready, block->nodes, kN);
    s->process.store(P::process(), relaxed);  // relaxed: add() publishes it
    epochs().add(*s);
    return s;
  }
  static void detach() noexcept {
    Local& l = local();
    Supply* s = l.supply;
    l = {};
    s->process.store(0, release);  // publishes the stacks; pairs with adopt()
  }
  static void at_thread_exit() noexcept {
    if (mine() != nullptr) detach();
  }
};

}  // namespace lockswap
