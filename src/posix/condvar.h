// A condition variable over any mutex: each waiter has a node in a list, and sleeps on that node.
//
// Source: ours. The list with a latch is as in A. Birrell, "An introduction to programming with
//   threads" (DEC SRC 35, 1989), and M. Burrows' nsync; the relay of a broadcast takes the place of
//   their moving of waiters to the mutex, which would need the mutex's help.
// Idea: a waiter puts its node into the list while it has the mutex, releases the mutex, and sleeps
//   until a signal or a broadcast takes the node out. Woken all at once, the waiters of a broadcast
//   would only queue up for the mutex (the thundering herd), so a broadcast wakes the first, and
//   each wakes the next when it has the mutex: a relay.
// State (24 bytes, zero = nobody waits; node = 32-bit handle): fits into the condition variables of
//   programs linked before glibc 2.3.2 as well.
//   contract  bits 31 to 39, the stamp of the process that adopted the object (adoption.h)
//   list      the waiters, with a table of a node's states: waiter_list.h
//   passing   how many waiters a signal took out that may still have to pass it on
// No wake-up is lost: a waiter is in the list before it releases the mutex. A cancelled waiter
//   passes on the signal that it was given. A waiter whose deadline has passed withdraws only if
//   nobody has taken its node out.
// Fairness: first come, first served, for the wake-ups; then the mutex's.
// Space: a node for each waiter.
// Destroy is safe right after a signal or broadcast: a waiter that was taken out touches the object
//   no more, unless it is `passing`; a waiter that withdraws stays in the list until it has the
//   latch. destroy() waits for both, as glibc's does: the second kind waits for the latch only, the
//   first only has to be woken and to run.
// Fork: nobody waits in a child. The first call that finds the parent's stamp empties the list.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/cancel.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/adoption.h"
#include "posix/waiter_list.h"
#include "wait/concept.h"

namespace lockswap {

// W: how to wait for the latch. Waiters always sleep: they wait for something to happen, not for a
// critical section to end.
template <Platform P, WaitPolicy<P> W>
class Condvar {
  static_assert(W::kParks);
  using List = WaiterList<P, W>;
  using Node = typename List::Node;
  using Nodes = typename List::Nodes;
  using Handle = typename List::Handle;

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
    // relaxed, both: the latch hands the node on.
    node.mutex.store(mutex, relaxed);
    node.gate.store(List::kQueued, relaxed);
    list_.append(me);

    Outcome o;
    o.error = unlock();
    const bool unlocked = o.error == 0;  // else the mutex was not the caller's
    Exit exit;
    if (unlocked) {
      exit = sleep_in_list(me, sleep, deadline, o);
    } else {
      exit = list_.withdraw(me) ? Exit::withdrawn : sleep_in_relay(node);
    }
    if (exit == Exit::signalled) {
      if (o.cancelled || !unlocked) signal();  // it goes to another waiter
      passing_.fetch_sub(1, release);          // release: the last access; pairs with at_rest
    }
    if (unlocked) {
      if (const int error = lock(); error != 0) o.error = error;
    }
    // relaxed: the link came with the gate.
    if (const Handle next = node.link.load(relaxed); exit == Exit::relayed && next != 0) {
      List::open(Nodes::at(next));
    }
    Nodes::give(me);
    return o;
  }

  void signal() noexcept {
    // A waiter that matters has released the mutex, by the program's own doing.
    if (list_.head() == 0) return;
    adopt();
    list_.latch();
    // relaxed, here and in the loop: the latch hands it on. Before a waiter subtracts.
    passing_.fetch_add(1, relaxed);
    Handle h = list_.head();
    std::uint32_t gate = 0;
    while (h != 0) {
      // Read first: once the node is taken out, its thread may give it to another.
      const Handle prev = Nodes::at(h).prev.load(relaxed);
      const Handle next = Nodes::at(h).link.load(relaxed);
      if (List::take_out(Nodes::at(h), List::kSignalled, gate)) {
        list_.join(prev, next);
        break;
      }
      h = next;
    }
    if (h == 0) passing_.fetch_sub(1, relaxed);
    list_.unlatch();
    if (h != 0 && (gate & List::kSleeper) != 0) W::wake(&Nodes::at(h).gate, List::kChannel);
  }

  void broadcast() noexcept {
    if (list_.head() == 0) return;  // as in signal
    adopt();
    list_.latch();
    Handle first = 0, last = 0;  // of a relay: waiters with the same mutex
    Handle next;
    for (Handle h = list_.head(); h != 0; h = next) {
      Node& node = Nodes::at(h);
      next = node.link.load(relaxed);
      std::uint32_t gate;
      if (!List::take_out(node, List::kChained, gate)) continue;
      // Its thread stays here until it is let go on.
      list_.join(node.prev.load(relaxed), next);
      node.link.store(0, relaxed);  // relaxed, and the next line's: handed on by open
      if (last != 0 && Nodes::at(last).mutex.load(relaxed) == node.mutex.load(relaxed)) {
        Nodes::at(last).link.store(h, relaxed);
      } else {
        if (first != 0) List::open(Nodes::at(first));
        first = h;
      }
      last = h;
    }
    list_.unlatch();
    if (first != 0) List::open(Nodes::at(first));
  }

  // Waits for threads that still touch the object; if threads wait on it, for them as well, as
  // glibc's does.
  void destroy() noexcept {
    if (!at_rest()) adopt();
    for (unsigned round = 0; !at_rest(); ++round)
      P::step_aside(round);
  }
  bool at_rest() const noexcept {
    return list_.at_rest() && passing_.load(acquire) == 0;  // acquire: pairs with the end of wait
  }

 private:
  // How a waiter came out of the list.
  enum class Exit : std::uint8_t { withdrawn, signalled, relayed };

  using Adopted = Adoption<P, 0>;
  // For Adoption. relaxed, all: the fork handed on what threads did.
  struct AdoptedCondvar {
    Condvar& c;

    static bool is_new(std::uint64_t v) noexcept { return v == 0; }
    static std::uint64_t first_bits() noexcept { return 0; }
    bool needs_no_repair(std::uint64_t) const noexcept {
      return c.list_.needs_no_repair() && c.passing_.load(relaxed) == 0;
    }
    std::uint64_t repair_after_fork(std::uint64_t v) const noexcept {
      c.passing_.store(0, relaxed);
      c.list_.drop_all();
      return v;
    }
  };
  void adopt() noexcept {
    if (!Adopted::is_done(contract_)) [[unlikely]]
      Adopted::adopt(contract_, AdoptedCondvar{*this});
  }

  template <class Sleep>
  Exit sleep_in_list(Handle me, Sleep& sleep, const Deadline* deadline, Outcome& o) noexcept {
    Node& node = Nodes::at(me);
    for (;;) {
      std::uint32_t v = node.gate.load(relaxed);  // relaxed: sleep_in_relay acquires
      if ((v & List::kQueued) == 0) break;
      if (!announce_sleep(node, v)) continue;
      const Slept slept = sleep.park(node.gate, v | List::kSleeper, List::kChannel, deadline);
      if (slept == Slept::woken) continue;
      o.cancelled = slept == Slept::cancelled;
      if (!list_.withdraw(me)) break;  // too late
      if (!o.cancelled) o.error = ETIMEDOUT;
      return Exit::withdrawn;
    }
    return sleep_in_relay(node);
  }
  // The node is taken out. To wait for the relay is to wait for the mutex: no cancellation, no
  // deadline.
  static Exit sleep_in_relay(Node& node) noexcept {
    for (;;) {
      // acquire: pairs with take_out and open.
      std::uint32_t v = node.gate.load(acquire);
      if ((v & List::kChained) == 0) return v == List::kSignalled ? Exit::signalled : Exit::relayed;
      if (!announce_sleep(node, v)) continue;
      P::park(node.gate, v | List::kSleeper, List::kChannel, nullptr);
    }
  }
  // False: the gate is no longer v.
  static bool announce_sleep(Node& node, std::uint32_t v) noexcept {
    // relaxed: it hands nothing on.
    return (v & List::kSleeper) != 0 || node.gate.compare_exchange(v, v | List::kSleeper, relaxed);
  }

  typename P::template atomic<std::uint64_t> contract_{};
  List list_{};
  typename P::template atomic<std::uint32_t> passing_{};
};

}  // namespace lockswap
