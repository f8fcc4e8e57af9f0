// Pools: nodes for lock-less lists, from a thread's own supply.
//
// Paper: as epoch.h, section 4.4.
// Idea: a thread takes nodes from its `ready` pool. The nodes that it takes out of lists go to
//   `open`. When `ready` is empty, or `open` is large, `open` becomes a closed period; when that is
//   over, its nodes are ready.
//
//     a node goes              when
//     ready  -> a list         the thread acquires (take, take_ready)
//     a list -> open           the thread has taken it out (retire)
//     open   -> closed         the last period is over, and nodes are needed (recycle)
//     closed -> ready          the period is over; a pinned node goes back to open
//     ready  -> spare          the thread has more than 2 kN ready nodes
//     spare  -> ready          the thread has too few
//
// State, a thread: three stacks of nodes (node_stack.h), and the period of `closed`. All threads:
//   `spare`, batches of kN nodes.
// Invariants: a node is in one stack, or in one list, or held. No walk that began after the period
//   of `closed` meets a node there. Nobody looks at a node in `ready` or `spare`.
// Cost: take and give are a pop and a push. Once in some kN takes, or retirements: a look at each
//   other thread.
// Space: kN nodes a thread at the start. A pool that gets ready with less than kN/2 is filled up to
//   kN, from `spare` or by mapping; of one with more than 2 kN, batches go to `spare` until it has
//   less. No more than 2 kN wait in `open` for a thread to run out of ready ones: its own nodes may
//   always come straight back, while it takes out those of others. While a period is not over,
//   take() maps more nodes: at most as many as are taken out of lists while the slowest walk lasts.
//   If a thread is stopped in a walk, that number grows; PoolCounts show it.
// Deviations: the allocator never waits. A trimmed node goes to other threads, not to the system:
//   its memory stays a node for ever, so a late wake of its address does no harm.
// Pins: a node with a sleeper is kept until the sleeper has seen that it may go on. Pins are only
//   taken in walks, so after a period there are no new ones.
// Threads: a thread's supply is a block that the next thread takes over. In a forked child the one
//   thread hands on those of the others (forked()).
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
  std::uint64_t nodes;     // that were mapped
  std::uint64_t growths;   // how often more had to be mapped, beside each thread's first
  std::uint64_t blocked;   // of those: because a walk took so long
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
    Period<P> period;               // of closed
    std::uint32_t enough = 2 * kN;  // when this many are in `open`, they are checked
  };

  // The calling thread's, or nullptr.
  static Supply* mine() noexcept { return local().supply; }

  // The calling thread's supply, made if there is none. The thread has it until it exits, or, where
  // no exit hook can be had, until this object ends.
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

  // A node that nobody else knows; nullptr if there is no memory. Not in a walk. Never waits.
  static T* take(Supply& me) noexcept {
    recycle_if_many(me);
    if (me.ready.empty() && !refill(me)) return nullptr;
    return take_ready(me);
  }
  // The same if one is at hand, else nullptr.
  static T* take_ready(Supply& me) noexcept {
    if (me.ready.empty()) return nullptr;
    T* n = me.ready.pop();
    P::permit(n);
    return n;
  }
  // Back from take(), if no other thread can have seen it.
  static void give(Supply& me, T* n) noexcept {
    P::forbid(n);
    me.ready.push(n);
  }
  // The calling thread has taken it out of a list.
  static void retire(Supply& me, T* n) noexcept { me.open.push(n); }
  // Called by a thread that retires without taking. Not in a walk. Never waits.
  static void recycle_if_many(Supply& me) noexcept {
    if (me.open.count > me.enough) [[unlikely]]
      recycle_and_trim(me);
  }

  // Called in a forked child, by the thread that is left, before or at its next use: the other
  // threads' supplies wait for new threads. Their walks are over.
  static void forked() noexcept {
    Supply* me = mine();
    const std::uint64_t here = P::process();
    // relaxed: what other threads did before the fork is handed on by it.
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
    // relaxed: counts
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
    bool kept = false;  // the exit hook gives it back
  };
  struct Block {  // what a new thread gets
    Supply supply;
    T nodes[kN];
  };

  static Shared& shared() noexcept { return P::template global<Shared>(); }
  static Local& local() noexcept { return P::template local<Local>(); }

  // --- ready is empty
  [[gnu::noinline]] static bool refill(Supply& me) noexcept {
    recycle_and_trim(me);
    if (me.ready.count >= (kN + 1) / 2) return true;
    const bool waits = !me.closed.empty();
    return shared().spare.take(me.ready) || grow(me.ready, waits) || !me.ready.empty();
  }
  [[gnu::noinline]] static void recycle_and_trim(Supply& me) noexcept {
    recycle(me);
    // If a walk lasts, the next check comes when that many more nodes were retired.
    me.enough = me.open.count + 2 * kN;
    if (me.ready.count <= 2 * kN) return;
    while (me.ready.count >= 2 * kN)
      shared().spare.put(me.ready);
  }

  // The nodes that were retired before the last period's end are ready, when no walk is that old.
  static void recycle(Supply& me) noexcept {
    if (me.closed.empty()) {
      if (me.open.empty()) return;
      // For a moment the nodes are in no stack. The period is set first, so that no node is in a
      // period that ended before.
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

  // Maps nodes, up to kN in the stack.
  static bool grow(Stack& s, bool blocked) noexcept {
    const std::uint32_t n = kN - s.count;
    auto* nodes = static_cast<T*>(P::map(n * sizeof(T)));
    if (nodes == nullptr) return false;
    shared().growths.fetch_add(1, relaxed);  // relaxed, both: counts
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
    shared().mapped.fetch_add(n, relaxed);  // relaxed: a count
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
      // acquire: pairs with detach() and forked(): the stacks.
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
    s->process.store(0, release);  // pairs with adopt(): the stacks
  }
  static void at_thread_exit() noexcept {
    if (mine() != nullptr) detach();
  }
};

}  // namespace lockswap
