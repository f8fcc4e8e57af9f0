// A condition variable over any mutex: each waiter has a node in a list, and sleeps on that node.
//
// Source: ours. The list with a latch is as in A. Birrell, "An introduction to programming with
//   threads" (DEC SRC 35, 1989), and M. Burrows' nsync. nsync moves the waiters of a broadcast to
//   the mutex, which needs the mutex's help; here they wake one another (relay.h).
// Idea: a waiter puts its node into the list while it holds the mutex, releases the mutex, and
//   sleeps until a signal or a broadcast takes the node out. The waiters of a broadcast wake one
//   another, but don't depend on any single one of them.
// State (24 bytes, zero = nobody waits; node = 32-bit handle), which fits into the condition
// variables of programs linked before glibc 2.3.2 as well:
//   contract  bits 31 to 63: the seal of the process that adopted the object (adoption.h); bit 0,
//             kMark: always set once it is adopted
//   list      the waiters; waiter_list.h has a table of a node's states
//   passing   the number of signaled waiters that may still have to pass their signal on;
//             kByPriority
//   A waiter may spin before it sleeps: briefly, or, if it is the only one, for longer, because the
//   thread that it takes turns with may signal soon.
// No wake-up is lost: a waiter is in the list before it releases the mutex. A canceled waiter
//   passes its signal on. A waiter whose deadline has passed withdraws only if nobody has taken its
//   node out. If a signaled waiter is not asleep, it may be in a signal handler, so the next one
//   is signaled as well.
// Fairness: wake-ups are first come, first served; after them the mutex decides. If waiters have
//   real-time policies, the one with the highest priority is next, and a broadcast wakes all at
//   once.
// Space: a node for each waiter.
// Destroy is safe right after a signal or broadcast. A waiter that was taken out doesn't touch the
//   object again, unless it is counted in `passing`, and a waiter that withdraws stays in the list
//   until it has the latch. destroy() waits for both, as glibc's does, but only until signaled
//   ones have been woken and have run, and withdrawing ones have had the latch.
// Fork: in a child only the thread that forked, in a signal handler, can be waiting. The first call
//   that finds the parent's stamp empties the list, which ends its wait with a spurious wake-up.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/cancel.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/adoption.h"
#include "posix/relay.h"
#include "posix/waiter_list.h"
#include "wait/concept.h"

namespace lockswap {

// W: how to wait for the latch. The waiters themselves sleep under every policy, because they wait
// for an event and not for a critical section to end.
template <Platform P, WaitPolicy<P> W>
class Condvar {
  static_assert(W::kParks);
  using List = WaiterList<P, W>;
  using Chain = Relay<P, W>;
  using Node = typename List::Node;
  using Nodes = typename List::Nodes;
  using Handle = typename List::Handle;

 public:
  struct Outcome {
    int error = 0;           // 0, ETIMEDOUT, or what unlock or lock returned
    bool cancelled = false;  // the mutex is locked; act on the cancellation
  };

  // Passed in place of a mutex's address if all waiters must be woken at once.
  static constexpr std::uint64_t kNoRelay = 0;
  // Passed in place of a priority: use the thread's real-time priority.
  static constexpr std::uint32_t kOwnPriority = List::kNotAsked;

  static bool prepare() noexcept { return Nodes::prepare(); }

  // The caller holds the mutex. unlock() releases it and lock(is_awake) acquires it again; both
  // return 0 or an errno. With lock(true) the thread has never slept, so the one that signalled may
  // still hold the mutex. The thread sleeps by sleep.park(atom, low, channels, deadline), and asks
  // sleep.is_cancelled() before it spins (CancellableSleep). deadline: nullptr for none. priority:
  // kOwnPriority, or a number above 0 that the caller chooses.
  template <class Sleep, class Unlock, class Lock>
  Outcome wait(std::uint64_t mutex, Sleep& sleep, const Deadline* deadline, const Unlock& unlock,
               const Lock& lock, std::uint32_t priority = kOwnPriority) noexcept {
    adopt();
    const std::uint64_t process = P::process();
    const Handle me = List::try_take();
    if (me == 0) [[unlikely]]
      return wait_shortly(sleep, deadline, unlock, lock);
    Node& node = Nodes::at(me);
    const bool has_company = join_list(me, mutex, priority);

    Outcome o;
    o.error = unlock();
    const bool unlocked = o.error == 0;  // otherwise the mutex was not the caller's
    Exit exit;
    bool is_awake = false;
    if (unlocked) {
      // NOLINTNEXTLINE(bugprone-branch-clone): the explorer has one type for both.
      exit = has_company ? wait_in_list<typename P::BriefSpins>(node, sleep, deadline, o, is_awake)
                         : wait_in_list<typename P::EventSpins>(node, sleep, deadline, o, is_awake);
    } else {
      exit = withdraw(node) ? Exit::withdrawn : sleep_in_relay(node);
    }
    if (exit == Exit::signalled) {
      if (o.cancelled || !unlocked) signal();  // for another waiter
      // release: the last access to the object; pairs with at_rest. In a child this waiter is not
      // counted.
      if (P::process() == process) passing_.fetch_sub(1, release);
    }
    if (unlocked) {
      if (const int error = lock(is_awake); error != 0) o.error = error;
    }
    // relaxed: published with the gate. 0 if a fork repair opened the gate, not a broadcast.
    if (const Handle relay = node.relay.load(relaxed); exit == Exit::opened && relay != 0) {
      Chain::pass_on(relay);
      Chain::leave(relay);
    } else {
      List::give(me);
    }
    return o;
  }

  // The same for a thread that nothing can wake: its node could not be allocated, or the object is
  // the system's. POSIX lets a wait end for no reason, so this one ends soon. Meanwhile others get
  // the mutex, and may give nodes back.
  template <class Sleep, class Unlock, class Lock>
  static Outcome wait_shortly(Sleep& sleep, const Deadline* deadline, const Unlock& unlock,
                              const Lock& lock) noexcept {
    constexpr unsigned kLongNap = 64;  // a round of step_aside
    Outcome o;
    o.error = unlock();
    if (o.error != 0) return o;
    o.cancelled = sleep.is_cancelled();
    if (!o.cancelled) P::step_aside(kLongNap);
    o.error = lock(false);
    if (o.error == 0 && deadline != nullptr && P::passed(*deadline)) o.error = ETIMEDOUT;
    return o;
  }

  // relaxed, in head(): a waiter that this signal must wake has released the mutex before, which
  // the program orders before this call.
  void signal() noexcept {
    while (list_.head() != 0 && !signal_one()) {}
  }

  void broadcast() noexcept {
    if (list_.head() != 0) broadcast_to_all();  // as in signal
  }

  // Waits for threads that still touch the object and, as glibc's does, for threads that still wait
  // on it.
  void destroy() noexcept {
    if (!at_rest()) adopt();
    for (unsigned round = 0; !at_rest(); ++round)
      P::step_aside(round);
  }
  bool at_rest() const noexcept {
    // acquire: pairs with the release at the end of wait.
    return list_.at_rest() && (passing_.load(acquire) & ~kByPriority) == 0;
  }

 private:
  // How a waiter came out of the list.
  enum class Exit : std::uint8_t { withdrawn, signalled, opened };
  static constexpr std::uint64_t kMark = 1;
  // A flag in `passing`: there may be waiters with real-time policies.
  static constexpr std::uint32_t kByPriority = 1u << 31;

  using Adopted = Adoption<P, WordHas::seal, 0, kMark>;
  // For Adoption. All relaxed: fork() orders what other threads did.
  struct AdoptedCondvar {
    static constexpr bool kMayBeSystems = false;  // it may be used with mutexes of ours
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
    std::uint64_t begin_anew() const noexcept {
      c.passing_.store(0, relaxed);
      c.list_.forget_all();
      return 0;
    }
    static void forget_strange() noexcept {}
    bool is_at_rest() const noexcept { return c.at_rest(); }
  };
  void adopt() noexcept {
    if (!Adopted::is_done(contract_)) [[unlikely]]
      Adopted::adopt(contract_, AdoptedCondvar{*this});
  }

  // In a child the latch may be held by a thread that does not exist there.
  void latch() noexcept {
    adopt();
    while (!list_.latch())
      adopt();
  }

  // Returns whether other threads wait as well.
  bool join_list(Handle me, std::uint64_t mutex, std::uint32_t priority) noexcept {
    Node& node = Nodes::at(me);
    // All relaxed: releasing the latch publishes the node.
    node.mutex.store(mutex, relaxed);
    node.tid.store(P::tid(), relaxed);
    node.relay.store(0, relaxed);
    node.gate.store(List::kQueued, relaxed);
    // The system call is made before the latch is taken, if the list looks non-empty. A mutex with
    // a priority ceiling or inheritance has raised this thread's priority, so then a thread that
    // needs the priority looks it up later.
    const bool asks = mutex != kNoRelay;
    node.priority.store(priority, relaxed);
    if (asks && list_.head() != 0) List::priority_of(node);
    latch();
    const bool has_company = list_.append(me);
    if (has_company && (!asks || List::priority_of(node) != 0)) {
      passing_.fetch_or(kByPriority, relaxed);
    }
    list_.unlatch();
    return has_company;
  }

  // Out of line, so that a broadcast with no waiters needs no stack frame.
  [[gnu::noinline]] void broadcast_to_all() noexcept {
    latch();
    // relaxed, here and in the loop: the latch orders it.
    bool at_once = (passing_.fetch_and(~kByPriority, relaxed) & kByPriority) != 0;
    Chain chain;
    const Handle oldest = list_.head();
    const bool is_alone = oldest == 0 || Nodes::at(oldest).link.load(relaxed) == 0;
    Handle next;
    for (Handle h = oldest; h != 0; h = next) {
      Node& node = Nodes::at(h);
      next = node.link.load(relaxed);
      // With a single waiter the order doesn't matter.
      const std::uint32_t priority = is_alone ? 0 : List::priority_of(node);
      at_once = at_once || priority != 0 || node.mutex.load(relaxed) == kNoRelay;
      if (!chain.add(h)) continue;
      list_.join(node.prev.load(relaxed), next);
      chain.link(h);
    }
    list_.unlatch();
    chain.start(at_once);
  }

  // Returns false if the signalled thread may not run soon, and others wait.
  bool signal_one() noexcept {
    latch();
    // All relaxed: the latch orders it. Added before the waiter can subtract.
    const bool by_priority = (passing_.fetch_add(1, relaxed) & kByPriority) != 0;
    std::uint32_t highest = 0, gate = 0;
    Handle h;
    do {
      h = list_.next_in_line(by_priority, highest);
    } while (h != 0 && !take_out(h, gate));
    if (h == 0) passing_.fetch_sub(1, relaxed);
    if (by_priority && highest == 0) passing_.fetch_and(~kByPriority, relaxed);
    const bool others = list_.head() != 0;
    list_.unlatch();
    if (h == 0) return true;
    const bool woken =
        (gate & List::kSleeper) != 0 && W::wake(&Nodes::at(h).gate, List::kChannel) != 0;
    return woken || !others;
  }
  bool take_out(Handle h, std::uint32_t& gate) noexcept {
    // Read these first: once the node is out, its thread may give it back, and another may take it.
    const Handle prev = Nodes::at(h).prev.load(relaxed);
    const Handle next = Nodes::at(h).link.load(relaxed);
    if (!List::take_out(Nodes::at(h), List::kSignalled, gate)) return false;
    list_.join(prev, next);
    return true;
  }
  // Returns false if a signal, a broadcast or a child's repair has taken the node out.
  bool withdraw(Node& node) noexcept {
    if (!List::begin_to_withdraw(node)) return false;
    latch();
    list_.remove(node);
    list_.unlatch();
    return true;
  }

  // Spins, as the platform advises, before it sleeps. is_awake: set to true if the thread has not
  // slept.
  template <class Spins, class Sleep>
  Exit wait_in_list(Node& node, Sleep& sleep, const Deadline* deadline, Outcome& o,
                    bool& is_awake) noexcept {
    Spins spins(this);
    if (spins.begins()) {
      if (deadline != nullptr) spins.ends_by(*deadline);
      // A spin is a cancellation point, like a sleep: threads that take turns may never sleep.
      o.cancelled = sleep.is_cancelled();
      if (o.cancelled && withdraw(node)) return Exit::withdrawn;
      is_awake = !o.cancelled && spin(node, spins);
      if (o.cancelled || is_awake) {
        // relaxed: sleep_in_relay acquires. A member of a relay sleeps until it is its turn.
        if ((node.gate.load(relaxed) & List::kChained) != 0) is_awake = false;
        return sleep_in_relay(node);
      }
    }
    spins.sleeps();
    return sleep_in_list(node, sleep, deadline, o);
  }
  // Returns whether the node has been taken out.
  template <class Spins>
  static bool spin(Node& node, Spins& spins) noexcept {
    for (; spins.more(); P::relax()) {
      if ((node.gate.load(relaxed) & List::kQueued) == 0) {  // relaxed: sleep_in_relay acquires
        spins.succeeded();
        return true;
      }
      // Another waiter has come: a signal to a thread that is awake also goes to the next one,
      // which would wake up for nothing. relaxed: nothing else depends on it.
      if (node.link.load(relaxed) != 0) break;
    }
    return false;
  }
  template <class Sleep>
  Exit sleep_in_list(Node& node, Sleep& sleep, const Deadline* deadline, Outcome& o) noexcept {
    for (;;) {
      std::uint32_t v = node.gate.load(relaxed);  // relaxed: sleep_in_relay acquires
      if ((v & List::kQueued) == 0) break;
      if (!announce_sleep(node, v)) continue;
      const Slept slept = sleep.park(node.gate, v | List::kSleeper, List::kChannel, deadline);
      if (slept == Slept::woken) continue;
      o.cancelled = slept == Slept::cancelled;
      if (!withdraw(node)) break;  // a signal was faster
      if (!o.cancelled) o.error = ETIMEDOUT;
      return Exit::withdrawn;
    }
    return sleep_in_relay(node);
  }
  // Called when the node is out of the list. Waiting for the relay counts as waiting for the mutex,
  // so it is not a cancellation point, and has no timeout except a guard's.
  static Exit sleep_in_relay(Node& node) noexcept {
    for (;;) {
      // acquire: pairs with take_out, open and wake_as_guard.
      std::uint32_t v = node.gate.load(acquire);
      if ((v & List::kChained) == 0) {
        return v == List::kSignalled ? Exit::signalled : Exit::opened;
      }
      if (!announce_sleep(node, v)) continue;
      const Handle relay = node.relay.load(relaxed);  // relaxed: it came with the gate
      const Handle seen = Chain::progress(relay);
      const Parked parked = P::park_for(node.gate, v | List::kSleeper, Chain::kPatience);
      if (parked == Parked::timed_out && Chain::progress(relay) == seen) {
        Chain::rescue(relay, seen, node);
      }
    }
  }
  // Returns false if the gate is no longer v.
  static bool announce_sleep(Node& node, std::uint32_t v) noexcept {
    // relaxed: it publishes nothing.
    return (v & List::kSleeper) != 0 || node.gate.compare_exchange(v, v | List::kSleeper, relaxed);
  }

  typename P::template atomic<std::uint64_t> contract_{};
  List list_{};
  typename P::template atomic<std::uint32_t> passing_{};
};

}  // namespace lockswap
