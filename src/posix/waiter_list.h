// The waiters of a condition variable (condvar.h): a list of nodes, oldest first, and its latch.
//
// State: latch (kLatched; kSleepers: a thread may sleep until the latch is free), head, tail. A
//   node has a gate, on which its thread sleeps:
//
//     gate           the node's thread              what changes the gate
//     kQueued        waits in the list              a signal: kSignalled; a broadcast: kChained;
//                                                   cancellation or time-out: kWithdrawing
//     kWithdrawing   takes its node out itself      -
//     kSignalled     is out of the list, goes on    -
//     kChained       is out, waits for the relay    another member of the relay (relay.h): kOpen
//     kOpen          is out, goes on                -
//   and kSleeper beside kQueued and kChained: the thread sleeps; kGuard beside kChained: relay.h.
//
// Invariants: only the latch's holder changes the list. The nodes in the list are those with
//   kQueued or kWithdrawing; a child's repair opens those that its parent left (drop_all). A thread
//   that signals another's node does not touch it afterwards, but for a wake of its address; nodes
//   of a relay stay its members' until the last of them has left.
// Priorities: a waiter says its real-time priority when it joins others. The first of a list does
//   not ask for its own, which costs a system call and matters only once others are there; another
//   thread that needs it then asks for it.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(64) CondNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's; next in the list, in the relay
  typename P::template atomic<std::uint32_t> prev;  // in the list
  typename P::template atomic<std::uint32_t> gate;
  typename P::template atomic<std::uint32_t> tid;       // of its thread
  typename P::template atomic<std::uint64_t> mutex;     // its address, or 0: Condvar::kNoRelay
  typename P::template atomic<std::uint32_t> priority;  // 0: none; WaiterList::kNotAsked
  // For a relay (relay.h): its first node; and, in that one, the next to be opened and the users.
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
  // A priority that nobody has asked the kernel for yet.
  static constexpr std::uint32_t kNotAsked = ~std::uint32_t{0};

  // 0: the list is empty. relaxed: a caller without the latch takes it for a hint.
  Handle head() const noexcept { return head_.load(relaxed); }
  // The list is empty, and no thread has the latch. acquire: pairs with join, whose thread has the
  // latch, and with unlatch.
  bool at_rest() const noexcept { return head_.load(acquire) == 0 && latch_.load(acquire) == 0; }

  // Called in a forked child. relaxed, all: the fork handed on what threads did.
  bool needs_no_repair() const noexcept { return (head() | latch_.load(relaxed)) == 0; }
  // Opens all nodes: one may be that of the thread that forked, in a signal handler that came upon
  // its wait, and whose wait ends here for no reason. Whatever another thread was doing to the list
  // when the process forked, each node that is in it is reached from the head.
  void drop_all() noexcept {
    Handle next;
    for (Handle h = head(); h != 0; h = next) {
      next = Nodes::at(h).link.load(relaxed);
      open(Nodes::at(h));
    }
    tail_.store(0, relaxed);
    latch_.store(0, relaxed);
    head_.store(0, relaxed);  // the last: until then signals look here
  }

  // The nodes are not this process's.
  void forget_all() noexcept {
    tail_.store(0, relaxed);
    latch_.store(0, relaxed);
    head_.store(0, relaxed);
  }

  // Returns false if a deadline has passed. It exists for a child: the latch may be one that
  // another thread of the parent had, in which case somebody has to repair the object first.
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
  // Afterwards the object may be gone.
  void unlatch() noexcept {
    // release: the list; pairs with latch.
    const std::uint32_t was = latch_.exchange(0, release);
    if ((was & kSleepers) != 0) W::wake(&latch_, kChannel);
  }

  // --- by a waiter

  // For a thread about to give up. Returns false if a signal or a broadcast took the node out.
  static bool begin_to_withdraw(Node& node) noexcept {
    std::uint32_t v = node.gate.load(relaxed);
    do {
      if ((v & kQueued) == 0) return false;
      // relaxed: the latch orders what follows.
    } while (!node.gate.compare_exchange(v, kWithdrawing, relaxed));
    return true;
  }

  // --- by the thread that has the latch. relaxed, all of a node in the list: the latch hands it
  // on.

  // Returns true if the list was not empty.
  bool append(Handle me) noexcept {
    P::check([this] { return is_latched() && has_waiters_alone(); });
    const Handle last = tail_.load(relaxed);
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
  // Ends a withdrawal.
  void remove(Node& node) noexcept {
    // relaxed: only a repair, which the thread has seen then, has changed it meanwhile.
    if (node.gate.load(relaxed) != kWithdrawing) return;
    join(node.prev.load(relaxed), node.link.load(relaxed));
  }

  // The priority of the node's thread; may be called by any thread.
  static std::uint32_t priority_of(Node& node) noexcept {
    std::uint32_t p = node.priority.load(relaxed);
    if (p == kNotAsked) {
      p = P::priority_of(node.tid.load(relaxed));
      node.priority.store(p, relaxed);
    }
    return p;
  }
  // The node that a signal is for: the oldest one, or of those with the highest priority the
  // oldest. 0: no thread waits. `highest`: its priority, if that was asked for.
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

  // Changes the gate of a node, for the list to be joined without it. Returns false if the node's
  // thread withdraws. `was`: the gate before.
  static bool take_out(Node& node, std::uint32_t to, std::uint32_t& was) noexcept {
    was = node.gate.load(relaxed);
    do {
      if ((was & kWithdrawing) != 0) return false;
      // release: what the signaller did; pairs with Condvar::sleep_in_relay.
    } while (
        !node.gate.compare_exchange(was, to == kChained ? to | (was & kSleeper) : to, release));
    return true;
  }
  // The nodes between these are no longer in the list.
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
      head_.store(next, release);  // release: that this thread has the latch; pairs with at_rest
    }
  }

  // Lets the node's thread go on. Returns true if it slept and has been woken, so that it runs now
  // or as soon as it may. Otherwise the node was open, or its thread is awake or in a handler.
  static bool open(Node& node) noexcept {
    // release: the links of the relay; pairs with Condvar::sleep_in_relay.
    const std::uint32_t was = node.gate.exchange(kOpen, release);
    return (was & kSleeper) != 0 && W::wake(&node.gate, kChannel) != 0;
  }

 private:
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
  // The latch is held for some ten instructions.
  static constexpr std::uint64_t kLatchPatience = 10'000'000;  // ns

  typename P::template atomic<std::uint32_t> latch_{};
  typename P::template atomic<Handle> head_{};
  typename P::template atomic<Handle> tail_{};
};

}  // namespace lockswap
