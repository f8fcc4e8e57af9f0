// Pools: nodes for lock-less lists, from a thread's own supply.
//
// Paper: as epoch.h, section 4.4.
// Idea: a thread takes nodes from its `ready` pool. What it has taken out of lists goes to `open`.
//   When `ready` is empty, or `open` has become large, `open` becomes a closed period; when that is
//   over, its nodes are ready.
// State, a thread: three stacks of nodes, and the closed one's period. All threads: `spare`, a
//   stack of batches of kN nodes that some thread had too many of.
// Invariants: a node is in one stack, or in one list, or held. In `closed`: nobody began to walk
//   through it after the period. In `ready` and `spare`: nobody looks at it.
// Cost: take and give are a pop and a push. Once in some kN takes, or retirements: a look at each
//   other thread.
// Space: kN nodes a thread at the start. A pool that gets ready with less than kN/2 is filled up to
//   kN, from `spare` or by mapping; of one with more than 2 kN, batches go to `spare` until it has
//   less. No more than 2 kN wait in `open` for a thread to run out of ready ones: its own may
//   always come straight back, while it takes out those of others. While a period is not over,
//   take() maps more nodes: at most as many as are taken out of lists while the slowest walk lasts.
//   Under a thread that is stopped in a walk that grows; Counts tell.
// Deviations: the allocator never waits. A trimmed node goes to other threads, not to the system:
//   its memory stays a node for ever, so a late wake of its address does no harm.
// Pins: a node with a sleeper is kept until the sleeper has seen that it may go on. Pins are only
//   taken in walks, so after a period there are no new ones.
// Threads: a thread's supply is a block that the next thread takes over. In a forked child the one
//   thread hands on those of the others (forked()). The child's copy of a thread's memory is that
//   of one moment between two of its stores, so a node leaves one stack before it enters another:
//   it may get lost, never be in two.
#pragma once

#include <concepts>
#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "reclaim/epoch.h"

namespace lockswap {

// Of all pools of a process; each a glimpse.
struct PoolCounts {
  std::uint64_t nodes;     // that were mapped
  std::uint64_t growths;   // how often more had to be mapped, beside each thread's first
  std::uint64_t blocked;   // of those: because a walk took so long
  std::uint64_t supplies;  // threads' supplies, in use or waiting for a thread
};

template <class T>
concept PooledNode = requires(T& node, const T& glimpse) {
  // The pools', while the node is in one of them.
  requires std::same_as<decltype(node.below), T*>;
  requires std::same_as<decltype(node.batch), T*>;
  // Of a node that no walk can meet any more: whether a thread still looks at it, by a pin that it
  // took in a walk. acquire: what that thread did before it let go.
  { glimpse.pinned() } -> std::same_as<bool>;
};

template <Platform P, PooledNode T, std::uint32_t kN = 128>
class Pools {
  struct Stack {
    T* top = nullptr;
    std::uint32_t count = 0;  // of nodes; in a ghost's stack it may be wrong
  };

 public:
  struct Supply : Walker<P> {
    alignas(64) Stack ready;
    Stack open;
    Stack closed;
    Period<P> period;               // of closed
    std::uint32_t enough = 2 * kN;  // so many in `open` are looked after
  };

  // The calling thread's, or nullptr.
  static Supply* mine() noexcept { return local().supply; }

  // The calling thread's supply, made if need be. It is the thread's until it exits, or, where no
  // exit hook can be had, until this object ends.
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

  // A node that nobody else knows; nullptr: no memory. Not in a walk. Never waits.
  static T* take(Supply& me) noexcept {
    recycle_if_many(me);
    if (me.ready.top == nullptr && !refill(me)) return nullptr;
    return take_ready(me);
  }
  // The same if one is at hand, else nullptr.
  static T* take_ready(Supply& me) noexcept {
    if (me.ready.top == nullptr) return nullptr;
    T* n = pop(me.ready);
    P::permit(n);
    return n;
  }
  // Back from take(), if no other thread can have seen it.
  static void give(Supply& me, T* n) noexcept {
    P::forbid(n);
    push(me.ready, n);
  }
  // The calling thread has taken it out of a list.
  static void retire(Supply& me, T* n) noexcept { push(me.open, n); }
  // For who retires without taking. Not in a walk. Never waits.
  static void recycle_if_many(Supply& me) noexcept {
    if (me.open.count > me.enough) [[unlikely]]
      recycle_and_trim(me);
  }

  // In a forked child, by the thread that is left, before or at its next use: the others' supplies
  // wait for new threads. Their walks are over.
  static void forked() noexcept {
    Supply* me = mine();
    const std::uint64_t here = P::process();
    // relaxed: what other threads did before the fork is handed on by it.
    if (me != nullptr) me->process.store(here, relaxed);
    for (Walker<P>* w = epochs().first(); w != nullptr; w = w->next) {
      const std::uint64_t of = w->process.load(relaxed);
      if (of == 0 || of == here) continue;
      auto* ghost = static_cast<Supply*>(w);
      for (Stack* s : {&ghost->ready, &ghost->open, &ghost->closed})
        recount(*s);
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
    typename P::template atomic<std::uint64_t> spare{};  // the first batch
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

  // --- stacks. signal_fence: the stores stay in this order, see "Threads" above.
  static T* pop(Stack& s) noexcept {
    T* n = s.top;
    if (n == nullptr) __builtin_unreachable();  // nobody pops an empty one
    s.top = n->below;
    --s.count;
    return n;
  }
  static void push(Stack& s, T* n) noexcept {
    n->below = s.top;
    signal_fence();
    s.top = n;
    ++s.count;
  }
  static void move_one(Stack& from, Stack& to) noexcept {
    T* n = pop(from);
    signal_fence();
    push(to, n);
  }
  static void recount(Stack& s) noexcept {
    s.count = 0;
    for (const T* n = s.top; n != nullptr; n = n->below)
      ++s.count;
  }

  // --- ready is empty
  [[gnu::noinline]] static bool refill(Supply& me) noexcept {
    recycle_and_trim(me);
    if (me.ready.count >= (kN + 1) / 2) return true;
    const bool waits = me.closed.top != nullptr;
    return take_spare(me.ready) || grow(me.ready, waits) || me.ready.top != nullptr;
  }
  [[gnu::noinline]] static void recycle_and_trim(Supply& me) noexcept {
    recycle(me);
    // A walk that lasts is looked at again when so many more have come.
    me.enough = me.open.count + 2 * kN;
    if (me.ready.count <= 2 * kN) return;
    while (me.ready.count >= 2 * kN)
      put_spare(me.ready);
  }

  // What was retired before the last period's end is ready, when no walk is that old.
  static void recycle(Supply& me) noexcept {
    if (me.closed.top == nullptr) {
      if (me.open.top == nullptr) return;
      // `closed` is nobody's for a moment; the period is set first, so that no node is in a period
      // that ended before.
      me.period = epochs().close();
      signal_fence();
      const Stack all = me.open;
      me.open = Stack{};
      signal_fence();
      me.closed = all;
    }
    if (!epochs().is_over(me.period, me)) return;
    while (me.closed.top != nullptr) {
      T* n = me.closed.top;
      const bool pinned = n->pinned();
      move_one(me.closed, pinned ? me.open : me.ready);
      if (!pinned) P::forbid(n);
    }
  }

  // kN nodes from a stack that has them become a batch.
  static void put_spare(Stack& from) noexcept {
    Stack batch;
    for (std::uint32_t i = 0; i < kN; ++i)
      move_one(from, batch);
    push_batches(batch.top, batch.top);
  }
  static void push_batches(T* first, T* last) noexcept {
    auto& spare = shared().spare;
    std::uint64_t head = spare.load(relaxed);
    do {
      last->batch = reinterpret_cast<T*>(head);
      // release: the batch, and that its nodes are ready. Pairs with take_spare().
    } while (!spare.compare_exchange(head, reinterpret_cast<std::uintptr_t>(first), release));
  }
  // All batches are taken and the others put back: so no batch is looked at that another thread may
  // have taken meanwhile. Who comes in between finds none, and maps.
  static bool take_spare(Stack& to) noexcept {
    auto& spare = shared().spare;
    if (spare.load(relaxed) == 0) return false;
    auto* first = reinterpret_cast<T*>(spare.exchange(0, acquire));  // pairs with push_batches()
    if (first == nullptr) return false;
    if (T* rest = first->batch; rest != nullptr) {
      T* last = rest;
      while (last->batch != nullptr)
        last = last->batch;
      push_batches(rest, last);
    }
    Stack batch{first, kN};
    while (batch.top != nullptr)
      move_one(batch, to);
    return true;
  }

  // Up to kN.
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
      push(s, node);
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
