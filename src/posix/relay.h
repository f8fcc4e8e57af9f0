// How the waiters that a broadcast took out wake up: one after the other, though none of them
// depends on another one.
//
// Source: ours.
// Idea: woken all at once they would only queue up for the mutex (the thundering herd). So the
//   broadcast wakes the first, and each wakes the next when it has the mutex, which is what the
//   next one waits for anyway: a relay. The one whose turn it is may never run: it sits in a signal
//   handler, or another thread keeps it from its processor. Therefore
//   - a thread that opens the next goes on until it has woken one that slept: a thread that sleeps
//     in the kernel, and no other, is sure to be in no handler;
//   - the broadcast wakes the last one as well, without opening it: it is the guard. It sleeps
//     again, with a deadline, and if the relay has not gone on meanwhile it opens all. So does each
//     member that is awake by chance.
// State: nodes in a chain by `link`, from the first. In the first node
//
//     left   the next one to be opened; 0: none; kNotMade: the broadcast still makes the chain
//     users  the members that have not left, and kMaking while the broadcast is at it
//
// Invariants: the chain does not change once it is made. Its nodes are given back all together, by
//   the last user, so any member may walk along it, and open any node, at any time. To open a node
//   twice does nothing.
// Fork: in a child the other members never leave, and the nodes are lost, as all that a thread of
//   the parent had in use. A member that forked in a signal handler wakes up by its deadline.
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
  // How long a member waits that is awake, and sees nobody go on, before it opens all. As long as
  // some time slices: a runner without a processor is no reason for a herd.
  static constexpr std::uint64_t kPatience = 4'000'000;  // ns

  // --- by a broadcast

  // Appends the node to the chain, under the list's latch. Returns false if its thread gives up.
  bool add(Handle h) noexcept {
    Node& node = Nodes::at(h);
    const bool is_first = first_ == 0;
    // relaxed, all: take_out publishes them to the node's thread.
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
  // Afterwards: the node is out of the list.
  void link(Handle h) noexcept {
    Nodes::at(h).link.store(0, relaxed);  // relaxed, and the next line's: start hands them on
    if (last_ != 0) {
      Nodes::at(last_).link.store(h, relaxed);
      const bool differs = Nodes::at(last_).mutex.load(relaxed) != Nodes::at(h).mutex.load(relaxed);
      one_mutex_ = one_mutex_ && !differs;
    }
    last_ = h;
  }
  // at_once: nobody may wait for another one.
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

  // --- by a member; `first`: its node's `relay`

  // It has the mutex: the next one may ask for it.
  static void pass_on(Handle first) noexcept {
    Node& f = Nodes::at(first);
    Handle h = f.left.load(acquire);  // acquire: pairs with start
    while (h != 0 && h != kNotMade) {
      const Handle next = Nodes::at(h).link.load(relaxed);  // relaxed: as the line above
      // relaxed: the links are known.
      if (!f.left.compare_exchange(h, next, relaxed)) continue;
      if (List::open(Nodes::at(h))) return;
      h = next;
    }
  }
  // What changes while the relay goes on.
  static Handle progress(Handle first) noexcept {
    return Nodes::at(first).left.load(acquire);  // acquire: the links, as in pass_on
  }
  // It has waited for long enough, and saw that progress all the time: opens all, itself included.
  static void rescue(Handle first, Handle seen, Node& own) noexcept {
    // A chain that is not made has no guard yet. To this thread it may look so for longer.
    for (Handle h = seen != kNotMade ? first : 0; h != 0; h = Nodes::at(h).link.load(relaxed))
      List::open(Nodes::at(h));
    List::open(own);
  }
  // It does not look at the relay any more.
  static void leave(Handle first, std::uint32_t uses = 1) noexcept {
    // release, acquire: each other: the nodes are in no use.
    if (Nodes::at(first).users.fetch_sub(uses, acq_rel) != uses) return;
    Handle next;
    for (Handle h = first; h != 0; h = next) {
      P::check([h, first] { return Nodes::at(h).relay.load(relaxed) == first; });
      next = Nodes::at(h).link.load(relaxed);
      Nodes::give(h);
    }
  }

 private:
  static constexpr std::uint32_t kMaking = 1u << 31;
  static constexpr Handle kNotMade = ~Handle{0};
  // If there are no more members than this, all of them may be awake.
  static constexpr std::uint32_t kAwake = P::kMostAwake;

  // Wakes one that sleeps. Those that do not sleep, or wake up later, are guards by themselves.
  void wake_guard() noexcept {
    bool done = wake_as_guard(last_);
    for (Handle h = progress(first_); !done && h != 0; h = Nodes::at(h).link.load(relaxed))
      done = wake_as_guard(h);
  }
  static bool wake_as_guard(Handle h) noexcept {
    Node& node = Nodes::at(h);
    // release: the links; pairs with Condvar::sleep_in_relay.
    const std::uint32_t was = node.gate.fetch_or(List::kGuard, release);
    // One that is open needs nobody.
    return (was & List::kChained) != 0 && (was & List::kSleeper) != 0 &&
           W::wake(&node.gate, List::kChannel) != 0;
  }
  // The highest priority first: this thread's own may be lower than that of the thread it wakes.
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
  // What the list knows of it.
  static std::uint32_t priority_of(Handle h) noexcept {
    const std::uint32_t p = Nodes::at(h).priority.load(relaxed);
    return p == List::kNotAsked ? 0 : p;
  }

  Handle first_ = 0, last_ = 0;
  std::uint32_t count_ = 0;
  bool one_mutex_ = true;
};

}  // namespace lockswap
