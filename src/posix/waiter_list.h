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
//     kChained       is out, waits for the relay    the thread before it in the relay: kOpen
//     kOpen          is out, goes on                -
//   and kSleeper beside kQueued and kChained: the thread sleeps.
//
// Invariants: only the latch's holder changes the list. The nodes in the list are those with
//   kQueued or kWithdrawing. A thread that takes another's node out does not touch it afterwards,
//   but for a wake of its address.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(64) CondNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's; next in the list, in the relay
  typename P::template atomic<std::uint32_t> prev;  // in the list
  typename P::template atomic<std::uint32_t> gate;
  typename P::template atomic<std::uint64_t> mutex;  // its address
};

// W: how to wait for the latch.
template <Platform P, WaitPolicy<P> W>
class WaiterList {
 public:
  using Node = CondNode<P>;
  using Nodes = typename P::template nodes<Node>;
  using Handle = std::uint32_t;

  // Of gates.
  enum : std::uint32_t { kOpen = 0, kQueued = 1, kWithdrawing = 4, kChained = 8, kSignalled = 16 };
  static constexpr std::uint32_t kSleeper = 2;
  static constexpr std::uint32_t kChannel = 1;

  // 0: the list is empty. relaxed: a caller without the latch takes it for a hint.
  Handle head() const noexcept { return head_.load(relaxed); }
  // The list is empty, and no thread has the latch. acquire: pairs with join, whose thread has the
  // latch, and with unlatch.
  bool at_rest() const noexcept { return head_.load(acquire) == 0 && latch_.load(acquire) == 0; }

  // In a forked child. relaxed, all: the fork handed on what threads did.
  bool needs_no_repair() const noexcept { return (head() | latch_.load(relaxed)) == 0; }
  void drop_all() noexcept {
    tail_.store(0, relaxed);
    latch_.store(0, relaxed);
    head_.store(0, relaxed);  // the last: until then signals look here
  }

  void latch() noexcept {
    std::uint32_t free = 0;
    // acquire: pairs with unlatch.
    while (!latch_.compare_exchange(free, kLatched, acquire)) {
      // relaxed: the compare-exchange acquires.
      W::until(latch_, relaxed, kSleepers, kChannel, nullptr,
               [](std::uint32_t v) { return v == 0; });
      free = 0;
    }
  }
  // Afterwards the object may be gone.
  void unlatch() noexcept {
    // release: the list; pairs with latch.
    const std::uint32_t was = latch_.exchange(0, release);
    if ((was & kSleepers) != 0) W::wake(&latch_, kChannel);
  }

  // --- by a waiter

  // relaxed, all of a node in the list: the latch hands it on.
  void append(Handle me) noexcept {
    latch();
    const Handle last = tail_.load(relaxed);
    Nodes::at(me).link.store(0, relaxed);
    Nodes::at(me).prev.store(last, relaxed);
    tail_.store(me, relaxed);
    if (last != 0) {
      Nodes::at(last).link.store(me, relaxed);
    } else {
      head_.store(me, relaxed);  // signals look here without the latch
    }
    unlatch();
  }
  // False: a signal or a broadcast has taken the node out.
  bool withdraw(Handle me) noexcept {
    Node& node = Nodes::at(me);
    std::uint32_t v = node.gate.load(relaxed);
    do {
      if ((v & kQueued) == 0) return false;
      // relaxed: the latch orders what follows.
    } while (!node.gate.compare_exchange(v, kWithdrawing, relaxed));
    latch();
    join(node.prev.load(relaxed), node.link.load(relaxed));
    unlatch();
    return true;
  }

  // --- by the thread that has the latch

  // Changes the gate of a node, for the list to be joined without it. False: the node's thread
  // withdraws. `was`: the gate before.
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

  // --- the relay of a broadcast

  // Lets the next thread go on. The node may be another's afterwards: a late wake is only a stray
  // one.
  static void open(Node& node) noexcept {
    // release: the links of the relay; pairs with Condvar::sleep_in_relay.
    const std::uint32_t was = node.gate.exchange(kOpen, release);
    if ((was & kSleeper) != 0) W::wake(&node.gate, kChannel);
  }

 private:
  static constexpr std::uint32_t kLatched = 1;
  static constexpr std::uint32_t kSleepers = 2;

  typename P::template atomic<std::uint32_t> latch_{};
  typename P::template atomic<Handle> head_{};
  typename P::template atomic<Handle> tail_{};
};

}  // namespace lockswap
