// Wakes the waiters that a broadcast took out one after the other, without any of them depending on
// another one.
//
// Source: ours.
// Idea: if all were woken at once, they would only queue up for the mutex (a thundering herd). So
//   the broadcast wakes the first, and each wakes the next once it has the mutex, which the next
//   one must wait for anyway. But the one whose turn it is may never run, because it is in a signal
//   handler, or it has been preempted. Therefore
//   - a thread that opens nodes goes on until it has woken a thread that slept: only a thread that
//     sleeps in the kernel is certain to be in no handler;
//   - the broadcast also wakes the last one, without opening its node, as the guard. The guard
//     sleeps again with a deadline, and opens all nodes if the relay has not moved meanwhile. So
//     does each member that happens to be awake.
// State: nodes in a chain by `link`, from the first. The first node has
//
//     left   the next node to be opened; 0: none; kNotMade: the broadcast is still making the chain
//     users  the number of members that have not left, plus kMaking until the chain is made
//
// Invariants: the chain does not change once it is made. The last user gives all its nodes back
//   together, so any member may walk along it and open any node at any time. Opening a node twice
//   does nothing.
// Fork: the other members never leave in a child, and the nodes leak, like all that other threads
//   of the parent were using. A member that forked in a signal handler wakes up at its deadline.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/waiter_list.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Relay {
  using List = WaiterList<P, W>;
  using Node = typename List::Node;
  using Nodes = typename List::Nodes;
  using Handle = typename List::Handle;

 public:
  // How long a member that is awake waits without progress before it opens all nodes. A few time
  // slices, so that one preempted member does not trigger a thundering herd.
  static constexpr std::uint64_t kPatience = 4'000'000;  // ns

  // --- called by a broadcast

  // Appends the node to the chain, under the list's latch. Returns false if its thread is giving
  // up.
  bool add(Handle h) noexcept {
    Node& node = Nodes::at(h);
    const bool is_first = first_ == 0;
    // All relaxed: take_out publishes them to the node's thread.
    node.relay.store(is_first ? h : first_, relaxed);
    if (is_first) {
      node.left.store(kNotMade, relaxed);
      node.users.store(kMaking, relaxed);
    }
    std::uint32_t gate;
    if (!List::take_out(node, List::kChained, gate)) return false;
    if (is_first) first_ = h;
    ++count_;
    return true;
  }
  // Called after add, when the node is out of the list.
  void link(Handle h) noexcept {
    Nodes::at(h).link.store(0, relaxed);  // relaxed, also below: published by start
    if (last_ != 0) {
      Nodes::at(last_).link.store(h, relaxed);
      const bool differs = Nodes::at(last_).mutex.load(relaxed) != Nodes::at(h).mutex.load(relaxed);
      one_mutex_ = one_mutex_ && !differs;
    }
    last_ = h;
  }
  // at_once: no member may wait for another one.
  void start(bool at_once) noexcept {
    if (first_ == 0) return;
    const bool at_one_time = at_once || !one_mutex_ || count_ <= kAwake;
    // release: the links; pairs with pass_on and rescue.
    Nodes::at(first_).left.store(at_one_time ? 0 : first_, release);
    if (at_one_time) {
      open_by_priority();
    } else {
      pass_on(first_);
      wake_guard();
    }
    leave(first_, kMaking - count_);
  }

  // --- called by a member; `first` is the `relay` of its node

  // Called with the mutex held: opens the next node, whose thread may now wait for the mutex.
  static void pass_on(Handle first) noexcept {
    Node& f = Nodes::at(first);
    Handle h = f.left.load(acquire);  // acquire: pairs with start
    while (h != 0 && h != kNotMade) {
      const Handle next = Nodes::at(h).link.load(relaxed);  // relaxed: `left` acquired it
      // relaxed: the first load acquired the links.
      if (!f.left.compare_exchange(h, next, relaxed)) continue;
      if (List::open(Nodes::at(h))) return;
      h = next;
    }
  }
  // Returns a value that changes whenever the relay moves.
  static Handle progress(Handle first) noexcept {
    return Nodes::at(first).left.load(acquire);  // acquire: the links, as in pass_on
  }
  // Called if the progress stayed at `seen` for the whole patience: opens all nodes, the caller's
  // included.
  static void rescue(Handle first, Handle seen, Node& own) noexcept {
    // A chain that is not made yet has no guard. This thread may read kNotMade even later.
    for (Handle h = seen != kNotMade ? first : 0; h != 0; h = Nodes::at(h).link.load(relaxed))
      List::open(Nodes::at(h));
    List::open(own);
  }
  // The caller does not use the relay any more. The last one gives the nodes back.
  static void leave(Handle first, std::uint32_t uses = 1) noexcept {
    // acquire and release: pair with each other, so nobody uses the nodes any more.
    if (Nodes::at(first).users.fetch_sub(uses, acq_rel) != uses) return;
    Handle next;
    for (Handle h = first; h != 0; h = next) {
      P::check([h, first] { return Nodes::at(h).relay.load(relaxed) == first; });
      next = Nodes::at(h).link.load(relaxed);
      List::give(h);
    }
  }

 private:
  static constexpr std::uint32_t kMaking = 1u << 31;
  static constexpr Handle kNotMade = ~Handle{0};
  // All members may be awake if there are at most this many.
  static constexpr std::uint32_t kAwake = P::kMostAwake;

  // Wakes one member that sleeps. Members that are awake, or wake up later, act as guards without
  // this.
  void wake_guard() noexcept {
    bool done = wake_as_guard(last_);
    for (Handle h = progress(first_); !done && h != 0; h = Nodes::at(h).link.load(relaxed))
      done = wake_as_guard(h);
  }
  static bool wake_as_guard(Handle h) noexcept {
    Node& node = Nodes::at(h);
    // release: the links; pairs with Condvar::sleep_in_relay.
    const std::uint32_t was = node.gate.fetch_or(List::kGuard, release);
    // A member whose node is open needs no guard.
    return (was & List::kChained) != 0 && (was & List::kSleeper) != 0 &&
           W::wake(&node.gate, List::kChannel) != 0;
  }
  // Opens the node with the highest priority first, because this thread may have a lower priority
  // than those that it wakes.
  void open_by_priority() noexcept {
    std::uint32_t below = ~std::uint32_t{0};
    for (bool more = true; more;) {
      std::uint32_t highest = 0;
      for (Handle h = first_; h != 0; h = Nodes::at(h).link.load(relaxed)) {
        const std::uint32_t p = priority_of(h);
        if (p < below && p > highest) highest = p;
      }
      more = highest != 0;
      for (Handle h = first_; h != 0; h = Nodes::at(h).link.load(relaxed)) {
        if (priority_of(h) == highest) List::open(Nodes::at(h));
      }
      below = highest;
    }
  }
  // Returns the priority if the list knows it, or 0.
  static std::uint32_t priority_of(Handle h) noexcept {
    const std::uint32_t p = Nodes::at(h).priority.load(relaxed);
    return p == List::kNotAsked ? 0 : p;
  }

  Handle first_ = 0, last_ = 0;
  std::uint32_t count_ = 0;
  bool one_mutex_ = true;
};

}  // namespace lockswap
