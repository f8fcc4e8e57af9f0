// The waiters of a condition variable (condvar.h): a list of nodes, oldest first, and its latch.
//
// State: latch (kLatched, and kSleepers if a thread may sleep until the latch is free), head, tail.
//   Each node has a gate, on which its thread sleeps:
//
//     gate           the node's thread              what changes the gate
//     kQueued        waits in the list              a signal: kSignalled; a broadcast: kChained;
//                                                   cancellation or time-out: kWithdrawing
//     kWithdrawing   takes its node out itself      -
//     kSignalled     is out of the list, goes on    -
//     kChained       is out, waits for the relay    another member of the relay (relay.h): kOpen
//     kOpen          is out, goes on                -
//   kSleeper is set with kQueued or kChained while the thread sleeps, and kGuard with kChained for
//   the guard of a relay.
//
// Invariants: only the holder of the latch changes the list. It has the nodes with kQueued or
//   kWithdrawing; a child's repair opens those that its parent left (drop_all). A thread that
//   signals another thread's node does not touch it afterwards, except to wake by its address.
//   Nodes of a relay belong to its members until the last one has left.
// Priorities: a waiter stores its real-time priority if others are in the list already. The first
//   one does not look its own up, because that is a system call and matters only once others wait.
//   A thread that needs it later looks it up.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(64) CondNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's; next in the list or the relay
  typename P::template atomic<std::uint32_t> prev;  // in the list
  typename P::template atomic<std::uint32_t> gate;
  typename P::template atomic<std::uint32_t> tid;       // of the waiting thread
  typename P::template atomic<std::uint64_t> mutex;     // its address, or Condvar::kNoRelay
  typename P::template atomic<std::uint64_t> list;      // the address of its WaiterList; 0: none
  typename P::template atomic<std::uint32_t> priority;  // 0: none; WaiterList::kNotAsked
  // For a relay (relay.h): its first node. That one has the next node to be opened, and the users.
  typename P::template atomic<std::uint32_t> relay;
  typename P::template atomic<std::uint32_t> left;
  typename P::template atomic<std::uint32_t> users;
};

// W: how to wait for the latch.
template <Platform P, WaitPolicy<P> W>
class WaiterList {
 public:
  using Node = CondNode<P>;
  using Nodes = typename P::template nodes<Node>;
  using Handle = std::uint32_t;

  // The values and flags of a gate, and the channel on which its thread sleeps.
  enum : std::uint32_t { kOpen = 0, kQueued = 1, kWithdrawing = 4, kChained = 8, kSignalled = 16 };
  static constexpr std::uint32_t kSleeper = 2;
  static constexpr std::uint32_t kGuard = 32;
  static constexpr std::uint32_t kChannel = 1;
  // In place of a priority that nobody has looked up yet.
  static constexpr std::uint32_t kNotAsked = ~std::uint32_t{0};

  // Returns a node for the calling thread, or 0 if there is no memory. Once the node is given back,
  // other threads may use its address only for wakes, and a child's repair for a look at `list`.
  static Handle try_take() noexcept {
    const Handle h = Nodes::try_take();
    if (h != 0) [[likely]]
      P::permit(&Nodes::at(h));
    return h;
  }
  static void give(Handle h) noexcept {
    Nodes::at(h).list.store(0, relaxed);  // relaxed: for children, and fork() orders it
    P::forbid(&Nodes::at(h));
    Nodes::give(h);
  }

  // Returns 0 if the list is empty. relaxed: without the latch it is only a hint.
  Handle head() const noexcept { return head_.load(relaxed); }
  // Returns whether the list is empty and nobody has the latch. acquire: pairs with join, whose
  // caller has the latch, and with unlatch.
  bool at_rest() const noexcept { return head_.load(acquire) == 0 && latch_.load(acquire) == 0; }

  // For a forked child. All relaxed: fork() orders what other threads did.
  bool needs_no_repair() const noexcept { return (head() | latch_.load(relaxed)) == 0; }
  // Opens all nodes. One of them may belong to the thread that forked, in a signal handler that
  // interrupted its wait, which then ends spuriously. At the fork another thread may have been
  // about to take a node out whose owner had already given it back. That node may be in another
  // list now, and its link may lead anywhere, so those behind it are reached from the tail.
  void drop_all() noexcept {
    if (!drop_from(head(), [](const Node& node) { return node.link.load(relaxed); }))
      drop_from(tail_.load(relaxed), [](const Node& node) { return node.prev.load(relaxed); });
    tail_.store(0, relaxed);
    latch_.store(0, relaxed);
    head_.store(0, relaxed);  // last: until then signals look here
  }

  // The nodes are not this process's.
  void forget_all() noexcept {
    tail_.store(0, relaxed);
    latch_.store(0, relaxed);
    head_.store(0, relaxed);
  }

  // Returns false if kLatchPatience has passed. In a child the latch may be held by a thread that
  // exists only in the parent, and then the object must be repaired first.
  bool latch() noexcept {
    std::uint32_t free = 0;
    // acquire: pairs with unlatch.
    while (!latch_.compare_exchange(free, kLatched, acquire)) {
      const Deadline soon = P::deadline_in(kLatchPatience);
      // relaxed: the compare-exchange acquires.
      if (!W::until(latch_, relaxed, kSleepers, kChannel, &soon,
                    [](std::uint32_t v) { return v == 0; })) {
        return false;
      }
      free = 0;
    }
    return true;
  }
  // The object may be gone afterwards.
  void unlatch() noexcept {
    // release: the list; pairs with latch.
    const std::uint32_t was = latch_.exchange(0, release);
    if ((was & kSleepers) != 0) W::wake(&latch_, kChannel);
  }

  // --- called by a waiter

  // Called to give up. Returns false if a signal or a broadcast has taken the node out.
  static bool begin_to_withdraw(Node& node) noexcept {
    std::uint32_t v = node.gate.load(relaxed);
    do {
      if ((v & kQueued) == 0) return false;
      // relaxed: the latch orders what follows.
    } while (!node.gate.compare_exchange(v, kWithdrawing, relaxed));
    return true;
  }

  // --- called with the latch. relaxed, for all members of a node in the list: the latch orders
  // them.

  // Returns whether other nodes were in the list.
  bool append(Handle me) noexcept {
    P::check([this] { return is_latched() && has_waiters_alone(); });
    const Handle last = tail_.load(relaxed);
    Nodes::at(me).list.store(address(), relaxed);
    Nodes::at(me).link.store(0, relaxed);
    Nodes::at(me).prev.store(last, relaxed);
    tail_.store(me, relaxed);
    if (last != 0) {
      Nodes::at(last).link.store(me, relaxed);
    } else {
      head_.store(me, relaxed);  // signals look here without the latch
    }
    return last != 0;
  }
  // Ends a withdrawal by taking the node out.
  void remove(Node& node) noexcept {
    // relaxed: only a repair can have changed it meanwhile, and this thread has seen the repair.
    if (node.gate.load(relaxed) != kWithdrawing) return;
    join(node.prev.load(relaxed), node.link.load(relaxed));
  }

  // Returns the priority of the node's thread. Any thread may call it.
  static std::uint32_t priority_of(Node& node) noexcept {
    std::uint32_t p = node.priority.load(relaxed);
    if (p == kNotAsked) {
      p = P::priority_of(node.tid.load(relaxed));
      node.priority.store(p, relaxed);
    }
    return p;
  }
  // Returns the node to signal, or 0 if nobody waits: the oldest, or with by_priority the oldest of
  // those with the highest priority, which is stored in `highest`.
  Handle next_in_line(bool by_priority, std::uint32_t& highest) const noexcept {
    Handle best = 0;
    for (Handle h = head(); h != 0; h = Nodes::at(h).link.load(relaxed)) {
      Node& node = Nodes::at(h);
      if ((node.gate.load(relaxed) & kWithdrawing) != 0) continue;
      if (!by_priority) return h;
      const std::uint32_t p = priority_of(node);
      if (best == 0 || p > highest) {
        best = h;
        highest = p;
      }
    }
    return best;
  }

  // Sets the gate of a node that the caller then takes out of the list by join. Returns false if
  // the node's thread withdraws. `was` is the gate before.
  static bool take_out(Node& node, std::uint32_t to, std::uint32_t& was) noexcept {
    was = node.gate.load(relaxed);
    do {
      if ((was & kWithdrawing) != 0) return false;
      // release: what the signalling thread did; pairs with Condvar::sleep_in_relay.
    } while (
        !node.gate.compare_exchange(was, to == kChained ? to | (was & kSleeper) : to, release));
    return true;
  }
  // Takes the nodes between these two out of the list.
  void join(Handle prev, Handle next) noexcept {
    P::check([this] { return is_latched(); });
    if (next != 0) {
      Nodes::at(next).prev.store(prev, relaxed);
    } else {
      tail_.store(prev, relaxed);
    }
    if (prev != 0) {
      Nodes::at(prev).link.store(next, relaxed);
    } else {
      head_.store(next, release);  // release: that the latch is held; pairs with at_rest
    }
  }

  // Lets the node's thread go on. Returns true if it slept and has been woken, so that it runs as
  // soon as it can. Otherwise the node was open already, or its thread is awake or in a handler.
  static bool open(Node& node) noexcept {
    // release: the links of the relay; pairs with Condvar::sleep_in_relay.
    const std::uint32_t was = node.gate.exchange(kOpen, release);
    return (was & kSleeper) != 0 && W::wake(&node.gate, kChannel) != 0;
  }

 private:
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  // Opens the nodes from h on. Returns false if it has come to one that isn't in this list.
  template <class Next>
  bool drop_from(Handle h, const Next& next_of) noexcept {
    while (h != 0) {
      Node& node = Nodes::at(h);
      P::permit(&node);
      if (node.list.load(relaxed) != address()) return false;
      h = next_of(node);
      open(node);
    }
    return true;
  }

  // For P::check.
  bool is_latched() const noexcept { return (latch_.load(relaxed) & kLatched) != 0; }
  bool has_waiters_alone() const noexcept {
    Handle last = 0;
    for (Handle h = head(); h != 0; last = h, h = Nodes::at(h).link.load(relaxed)) {
      if ((Nodes::at(h).gate.load(relaxed) & (kQueued | kWithdrawing)) == 0) return false;
      if (Nodes::at(h).prev.load(relaxed) != last) return false;
    }
    return tail_.load(relaxed) == last;
  }

  static constexpr std::uint32_t kLatched = 1;
  static constexpr std::uint32_t kSleepers = 2;
  // The latch is usually held for about ten instructions.
  static constexpr std::uint64_t kLatchPatience = 10'000'000;  // ns

  typename P::template atomic<std::uint32_t> latch_{};
  typename P::template atomic<Handle> head_{};
  typename P::template atomic<Handle> tail_{};
};

}  // namespace lockswap
