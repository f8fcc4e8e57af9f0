// A condition variable over any mutex: who waits has a node in a list, and sleeps on that.
//
// Source: ours. The list with a latch is as in A. Birrell, "An introduction to programming with
//   threads" (DEC SRC 35, 1989), and M. Burrows' nsync; the relay of a broadcast takes the place of
//   their moving of waiters to the mutex, which would need the mutex's help.
// Idea: a waiter puts its node into the list while it has the mutex, releases that, and sleeps
//   until the node is taken out. A signal takes out the oldest, a broadcast all. Woken at once,
//   those would only queue up for the mutex (the thundering herd), so a broadcast wakes the first;
//   each wakes the next when it has the mutex.
// State (24 bytes, zero = nobody waits; node = 32-bit handle): fits into the condition variables of
//   programs linked before glibc 2.3.2 as well.
//   contract    bits 31 to 39, the stamp of the process that adopted it; 0: fresh memory
//   latch       kLatched, kSleepers: who changes the list, for a few instructions
//   head, tail  the list, oldest first
//   passing     waiters that a signal took out and that may still have to pass it on
// Invariants: the list is changed by the latch's holder alone. A node whose gate is kQueued or
//   kLeaving is in the list, any other is not. Who takes a node out does not touch it afterwards,
//   but for a wake of its address; of a relay, the gate of the next is opened by the one before.
// No wake-up is lost: a waiter is in the list before it releases the mutex. What a cancelled waiter
//   was given by a signal, it passes on. A waiter whose deadline has passed leaves the list only if
//   nobody has taken it out.
// Fairness: first come, first served, for the wake-ups; then the mutex's.
// Space: a node for each waiter.
// Destroy is safe right after a signal or broadcast: a waiter that was taken out touches the object
//   no more, unless it is `passing`; one that is about to leave says so first (kLeaving), and stays
//   in the list. destroy() waits for both, as glibc's: the latter wait for the latch only, the
//   former have to be woken and to run, no more.
// Fork: nobody waits in a child. The first call that finds the parent's stamp empties the list.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/cancel.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/adoption.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(64) CondNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's; next in the list, in the relay
  typename P::template atomic<std::uint32_t> prev;  // in the list
  typename P::template atomic<std::uint32_t> gate;
  typename P::template atomic<std::uint64_t> mutex;  // its address
};

// W is how to wait for the latch. Waiters sleep, whatever the locks do: they wait for something to
// happen, not for a critical section to end.
template <Platform P, WaitPolicy<P> W>
class Condvar {
  static_assert(W::kParks);
  using Node = CondNode<P>;
  using Nodes = typename P::template nodes<Node>;
  using Handle = std::uint32_t;

 public:
  struct Outcome {
    int error = 0;           // 0, ETIMEDOUT, or what unlock or lock returned
    bool cancelled = false;  // the mutex is locked, go on with the cancellation
  };

  static bool prepare() noexcept { return Nodes::prepare(); }

  // Sleeps by sleep.park(atom, low, channels, deadline), as CancellableSleep's. The caller has the
  // mutex, which unlock() and lock() release and acquire; 0 or an errno. nullptr: no deadline.
  template <class Sleep, class Unlock, class Lock>
  Outcome wait(std::uint64_t mutex, Sleep& sleep, const Deadline* deadline, const Unlock& unlock,
               const Lock& lock) noexcept {
    adopt();
    const Handle me = Nodes::take();
    Node& node = Nodes::at(me);
    // relaxed, all of a node in the list: the latch hands it on.
    node.mutex.store(mutex, relaxed);
    node.gate.store(kQueued, relaxed);
    append(me);

    Outcome o;
    o.error = unlock();
    const bool unlocked = o.error == 0;  // else the mutex was not the caller's
    Left left;
    if (unlocked) {
      left = sleep_in_list(me, sleep, deadline, o);
    } else {
      left = leave(me) ? Left::by_itself : sleep_in_relay(node);
    }
    if (left == Left::by_signal) {
      if (o.cancelled || !unlocked) signal();  // it goes to another waiter
      passing_.fetch_sub(1, release);          // the last access; pairs with at_rest
    }
    if (unlocked) {
      if (const int error = lock(); error != 0) o.error = error;
    }
    // relaxed: the link came with the gate.
    if (const Handle next = node.link.load(relaxed); left == Left::by_broadcast && next != 0) {
      open(Nodes::at(next));
    }
    Nodes::give(me);
    return o;
  }

  void signal() noexcept {
    // relaxed: a waiter that matters has released the mutex, by the program's own doing.
    if (head_.load(relaxed) == 0) return;
    adopt();
    latch();
    passing_.fetch_add(1, relaxed);  // before a waiter subtracts; the latch hands it on
    Handle h = head_.load(relaxed);
    std::uint32_t gate = 0;
    while (h != 0) {
      // Read first: once it is taken out, its thread may give it to another.
      const Handle prev = Nodes::at(h).prev.load(relaxed);
      const Handle next = Nodes::at(h).link.load(relaxed);
      if (take_out(Nodes::at(h), kSignalled, gate)) {
        join(prev, next);
        break;
      }
      h = next;
    }
    if (h == 0) passing_.fetch_sub(1, relaxed);  // as above
    unlatch();
    if (h != 0 && (gate & kSleeper) != 0) W::wake(&Nodes::at(h).gate, kChannel);
  }

  void broadcast() noexcept {
    if (head_.load(relaxed) == 0) return;  // as in signal
    adopt();
    latch();
    Handle first = 0, last = 0;  // of a relay: waiters with the same mutex
    Handle next;
    for (Handle h = head_.load(relaxed); h != 0; h = next) {
      Node& node = Nodes::at(h);
      next = node.link.load(relaxed);
      std::uint32_t gate;
      if (!take_out(node, kChained, gate)) continue;
      // It stays here until it is opened.
      join(node.prev.load(relaxed), next);
      node.link.store(0, relaxed);  // this and the next line's: handed on by open
      if (last != 0 && Nodes::at(last).mutex.load(relaxed) == node.mutex.load(relaxed)) {
        Nodes::at(last).link.store(h, relaxed);
      } else {
        if (first != 0) open(Nodes::at(first));
        first = h;
      }
      last = h;
    }
    unlatch();
    if (first != 0) open(Nodes::at(first));
  }

  // Waits for threads that are about to be done with the object. If threads wait on it: for them,
  // as glibc's.
  void destroy() noexcept {
    if (!at_rest()) adopt();
    for (unsigned round = 0; !at_rest(); ++round)
      P::step_aside(round);
  }
  bool at_rest() const noexcept {
    // acquire: pairs with join, whose thread has the latch; with unlatch; and with who passes.
    return head_.load(acquire) == 0 && latch_.load(acquire) == 0 && passing_.load(acquire) == 0;
  }

 private:
  // The gate of a node.
  static constexpr std::uint32_t kOpen = 0;        // taken out by a broadcast, and free to go
  static constexpr std::uint32_t kQueued = 1;      // in the list
  static constexpr std::uint32_t kSleeper = 2;     // with kQueued and kChained: its thread sleeps
  static constexpr std::uint32_t kLeaving = 4;     // in the list, about to leave it
  static constexpr std::uint32_t kChained = 8;     // taken out by a broadcast, waits to be opened
  static constexpr std::uint32_t kSignalled = 16;  // taken out by a signal, and free to go
  static constexpr std::uint32_t kChannel = 1;

  // How a waiter left the list.
  enum class Left : std::uint8_t { by_itself, by_signal, by_broadcast };

  static constexpr std::uint32_t kLatched = 1;
  static constexpr std::uint32_t kSleepers = 2;

  void adopt() noexcept {
    if (!Adopted::is_done(contract_)) [[unlikely]]
      Adopted::adopt(contract_, AdoptedList{*this});
  }
  using Adopted = Adoption<P, 0>;
  // For Adoption. relaxed, all: the fork handed on what threads did.
  struct AdoptedList {
    Condvar& c;

    static bool is_new(std::uint64_t v) noexcept { return v == 0; }
    static std::uint64_t first_bits() noexcept { return 0; }
    bool needs_no_repair(std::uint64_t) const noexcept {
      return (c.head_.load(relaxed) | c.latch_.load(relaxed) | c.passing_.load(relaxed)) == 0;
    }
    std::uint64_t repair_after_fork(std::uint64_t v) const noexcept {
      c.tail_.store(0, relaxed);
      c.passing_.store(0, relaxed);
      c.latch_.store(0, relaxed);
      c.head_.store(0, relaxed);  // the last: until then signals look here
      return v;
    }
  };

  // --- waiting

  template <class Sleep>
  Left sleep_in_list(Handle me, Sleep& sleep, const Deadline* deadline, Outcome& o) noexcept {
    Node& node = Nodes::at(me);
    for (;;) {
      std::uint32_t v = node.gate.load(relaxed);  // sleep_in_relay acquires
      if ((v & kQueued) == 0) break;
      // relaxed: it hands nothing on.
      if ((v & kSleeper) == 0 && !node.gate.compare_exchange(v, v | kSleeper, relaxed)) continue;
      const Slept slept = sleep.park(node.gate, v | kSleeper, kChannel, deadline);
      if (slept == Slept::woken) continue;
      o.cancelled = slept == Slept::cancelled;
      if (!leave(me)) break;  // too late
      if (!o.cancelled) o.error = ETIMEDOUT;
      return Left::by_itself;
    }
    return sleep_in_relay(node);
  }
  // It is taken out. To wait for the relay is to wait for the mutex: no cancellation, no deadline.
  static Left sleep_in_relay(Node& node) noexcept {
    for (;;) {
      std::uint32_t v = node.gate.load(acquire);  // pairs with take_out and open
      if ((v & kChained) == 0) return v == kSignalled ? Left::by_signal : Left::by_broadcast;
      if ((v & kSleeper) == 0 && !node.gate.compare_exchange(v, v | kSleeper, relaxed)) continue;
      P::park(node.gate, v | kSleeper, kChannel, nullptr);
    }
  }

  // True: it was in the list, and is no more.
  bool leave(Handle me) noexcept {
    Node& node = Nodes::at(me);
    std::uint32_t v = node.gate.load(relaxed);
    do {
      if ((v & kQueued) == 0) return false;
      // relaxed: the latch orders what follows.
    } while (!node.gate.compare_exchange(v, kLeaving, relaxed));
    latch();
    join(node.prev.load(relaxed), node.link.load(relaxed));
    unlatch();
    return true;
  }

  // --- taking out, by who has the latch

  // False: its thread is leaving. `was`: the gate before.
  static bool take_out(Node& node, std::uint32_t to, std::uint32_t& was) noexcept {
    was = node.gate.load(relaxed);
    do {
      if ((was & kLeaving) != 0) return false;
      // release: what the signaller did; pairs with sleep_in_relay.
    } while (
        !node.gate.compare_exchange(was, to == kChained ? to | (was & kSleeper) : to, release));
    return true;
  }
  // Of a relay. The node may be another's afterwards: a late wake is only a stray one.
  static void open(Node& node) noexcept {
    // release: the links of the relay; pairs with sleep_in_relay.
    const std::uint32_t was = node.gate.exchange(kOpen, release);
    if ((was & kSleeper) != 0) W::wake(&node.gate, kChannel);
  }

  // --- the list

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

  void append(Handle me) noexcept {
    latch();
    const Handle last = tail_.load(relaxed);
    Nodes::at(me).link.store(0, relaxed);
    Nodes::at(me).prev.store(last, relaxed);
    tail_.store(me, relaxed);
    if (last != 0) {
      Nodes::at(last).link.store(me, relaxed);
    } else {
      head_.store(me, relaxed);  // for signals that do not look at the latch: see there
    }
    unlatch();
  }
  // What lay between is no longer in the list.
  void join(Handle prev, Handle next) noexcept {
    if (next != 0) {
      Nodes::at(next).prev.store(prev, relaxed);
    } else {
      tail_.store(prev, relaxed);
    }
    if (prev != 0) {
      Nodes::at(prev).link.store(next, relaxed);
    } else {
      head_.store(next, release);  // that this thread has the latch; pairs with at_rest
    }
  }

  typename P::template atomic<std::uint64_t> contract_{};
  typename P::template atomic<std::uint32_t> latch_{};
  typename P::template atomic<Handle> head_{};
  typename P::template atomic<Handle> tail_{};
  typename P::template atomic<std::uint32_t> passing_{};
};

}  // namespace lockswap
