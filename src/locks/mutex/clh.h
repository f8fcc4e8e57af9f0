// clh: a queue lock in which each thread waits on its predecessor's node.
//
// Paper: T. Craig, "Building FIFO and priority-queuing spin locks from atomic swap" (University of
//   Washington, 1993); A. Landin, E. Hagersten, "Queue locks on cache coherent multiprocessors"
//   (IPPS 1994). Timeouts: M. Scott, W. Scherer, "Scalable queue-based spin locks with timeout"
//   (PPoPP 2001), section 3.1, CLH-try.
// Idea: an arriving thread puts its node at the tail of the queue and waits until the node that was
//   there says that its thread has released the lock. A thread that times out writes its
//   predecessor's node into its own, and the thread behind it goes on to wait for that one.
// State (8 bytes, zero = free; node = 32-bit handle):
//   tail    the newest node; 0: nobody holds the lock or waits
//   holder  the holder's node
// Invariants: only the holder writes `holder`. Once a node is no longer shut, it doesn't change any
//   more, and the thread behind it gives it back.
// Fairness: first come, first served. A trylock gets the lock only when nobody holds it or waits.
// Space: a node for each thread that waits or holds. If a thread times out just as its predecessor
//   releases, the free lock keeps a node until it is taken again or destroyed.
// Deviations: a free lock has no node: a release that finds its own node at the tail takes it out,
//   so that unused locks cost nothing. The lock names the holder's node, so any thread may release
//   it. In the paper a thread goes on with its predecessor's node; here it gives that one back, and
//   takes a new node each time.
// Destroy is safe: the last access to the lock is the compare-exchange that leaves the queue empty,
//   or the load of the tail that finds a successor, which gets the lock only after that. Everything
//   else only touches nodes.
#pragma once

#include <cstdint>

#include "locks/common/lock_info.h"
#include "locks/mutex/node_queue.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// It has a cache line of its own, because a thread spins on it.
template <Platform P>
struct alignas(64) ClhNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's while the node is free
  // kShut and kSleepers while its thread holds the lock or waits, and 0 when it has released. If
  // its thread has timed out, this is the predecessor's node, shifted.
  typename P::template atomic<std::uint32_t> state;
};

template <Platform P, WaitPolicy<P> W>
class Clh : public NodeQueue<Clh<P, W>, P, ClhNode<P>> {
  friend NodeQueue<Clh<P, W>, P, ClhNode<P>>;
  using Base = NodeQueue<Clh<P, W>, P, ClhNode<P>>;
  using Base::enter, Base::kLeft, Base::own, Base::tail_;
  using typename Base::Handle, typename Base::Nodes;

 public:
  static constexpr LockInfo kInfo =
      Base::info("queue lock: each waiter spins on its predecessor's node",
                 "Craig 1993; Landin and Hagersten 1994; Scott and Scherer 2001, section 3.1", 95);

  void slow_lock(std::uint64_t arrival) noexcept { finish(arrival, nullptr); }

  bool lock_until(const Deadline* deadline) noexcept {
    const std::uint64_t arrival = enter(Nodes::take());
    return arrival == 0 || finish(arrival, deadline);
  }

  bool try_lock() noexcept {
    // acquire: makes kShut in that node visible; pairs with the exchange that put it there.
    Handle before = tail_.load(acquire);
    // relaxed: it decides only whether to join the queue. The node may be another lock's by now,
    // but then this lock's holder has left since the load above.
    if (before != 0 && is_shut(Nodes::at(before).state.load(relaxed))) return false;
    Handle me = Nodes::take();
    Nodes::at(me).state.store(kShut, relaxed);           // as in enter
    if (!tail_.compare_exchange(before, me, acq_rel)) {  // as in enter
      Nodes::give(me);
      return false;
    }
    if (before != 0 && !go_over(before) && !give_up(before, me)) return false;
    own(me);
    return true;
  }

  // The lock may be gone: touches nodes only.
  static void slow_unlock(std::uint32_t rest) noexcept {
    if ((rest & kLeft) != 0) {
      Nodes::give(rest & ~kLeft);
    } else {
      // release: the critical section; pairs with wait_for.
      wake_behind(rest, Nodes::at(rest).state.exchange(kReleased, release));
    }
  }

  // For tests, when nobody uses it.
  bool idle() const noexcept {
    // acquire: pairs with fast_unlock; a thread that sees the lock free may use its memory for
    // something else.
    for (Handle h = tail_.load(acquire); h != 0;) {
      // acquire: pairs with slow_unlock and give_up.
      const std::uint32_t v = Nodes::at(h).state.load(acquire);
      if (is_shut(v)) return false;
      h = before_in(v);
    }
    return true;
  }

  // Called when the object is destroyed, while nobody holds the lock or waits. Gives back the nodes
  // of threads that timed out.
  void destroy() noexcept {
    // Both relaxed: idle() has acquired them, and nobody changes them any more.
    for (Handle h = tail_.load(relaxed); h != 0;) {
      const Handle before = before_in(Nodes::at(h).state.load(relaxed));
      Nodes::give(h);
      h = before;
    }
    tail_.store(0, relaxed);
  }

 private:
  static constexpr std::uint32_t kShut = 1;      // its thread holds the lock or waits
  static constexpr std::uint32_t kSleepers = 2;  // while kShut: the thread behind sleeps
  static constexpr int kShift = 2;
  static constexpr std::uint32_t kReleased = 0;
  static constexpr std::uint32_t kChannel = 1;

  static bool is_shut(std::uint32_t v) noexcept { return (v & kShut) != 0; }
  static Handle before_in(std::uint32_t v) noexcept { return v >> kShift; }

  // See NodeQueue.
  static void renew(Handle me) noexcept { Nodes::at(me).state.store(kShut, relaxed); }
  static bool is_new(Handle me) noexcept { return Nodes::at(me).state.load(relaxed) == kShut; }

  // Returns false if the deadline has passed first.
  bool finish(std::uint64_t arrival, const Deadline* deadline) noexcept {
    auto me = static_cast<Handle>(arrival);
    if (!wait_for(static_cast<Handle>(arrival >> 32), me, deadline)) return false;
    own(me);
    return true;
  }

  // Returns false if the deadline has passed first; then this thread has left the queue.
  [[gnu::noinline]] bool wait_for(Handle before, Handle& me, const Deadline* deadline) noexcept {
    const auto changed = [](std::uint32_t v) { return !is_shut(v); };
    do {
      // acquire: pairs with slow_unlock and give_up.
      if (!W::until(Nodes::at(before).state, acquire, kSleepers, kChannel, deadline, changed))
        return give_up(before, me);
    } while (next_before(before));
    return true;
  }
  // Goes past a node that is no longer shut. Returns false if it was released: the lock is ours.
  static bool next_before(Handle& before) noexcept {
    const Handle gone = before;
    before = before_in(Nodes::at(gone).state.load(relaxed));  // it changes no more
    P::check([gone, before] { return Nodes::at(gone).state.load(relaxed) == before << kShift; });
    Nodes::give(gone);
    return before != 0;
  }

  // Returns true if this thread has the lock after all, and false if it has left the queue.
  //
  // Two threads, one behind the other, may give up simultaneously and each rely on the other. The
  // first finds a thread behind it, and leaves its node to that one. The second finds the first
  // still waiting, and takes its own node out. So each rechecks after its update, which makes a
  // Dekker pair:
  //   the first   1. says that it is gone    2. checks whether its node is the newest
  //   the second  1. makes it the newest     2. checks whether its thread is gone
  // The one that detects the race queues again behind the abandoned node, gives it back as any
  // waiter does, and gives up once more.
  bool give_up(Handle before, Handle& me) noexcept {
    for (;;) {
      Handle expected = me;
      // seq_cst: on both sides the RMW and the following load form the pair. As a release it
      // publishes that the preceding node is, or was, shut; pairs with the acquire of its finder.
      if (tail_.load(relaxed) == me && tail_.compare_exchange(expected, before, seq_cst)) {
        if (is_shut(Nodes::at(before).state.load(seq_cst))) break;
      } else {
        // As a release it publishes that the preceding node is queued; pairs with wait_for.
        wake_behind(me, Nodes::at(me).state.exchange(before << kShift, seq_cst));
        if (tail_.load(seq_cst) != me) return false;
        before = me;
        me = Nodes::take();
        Nodes::at(me).state.store(kShut, relaxed);  // as in enter
      }
      // The node may be another thread's by now, and then this thread queues behind that one.
      expected = before;
      if (!tail_.compare_exchange(expected, me, acq_rel)) break;  // as in enter
      if (go_over(before)) return true;
    }
    Nodes::give(me);
    return false;
  }
  // Gives back the preceding nodes that are not shut. Returns true if there are no others, so that
  // the lock is ours.
  static bool go_over(Handle& before) noexcept {
    do {
      if (is_shut(Nodes::at(before).state.load(acquire))) return false;  // as in wait_for
    } while (next_before(before));
    return true;
  }

  // Called by the thread that has changed its node's state from `was`. From then on the node
  // belongs to the thread behind.
  static void wake_behind(Handle me, std::uint32_t was) noexcept {
    if constexpr (W::kParks) {
      if ((was & kSleepers) != 0) W::wake(&Nodes::at(me).state, kChannel);
    }
  }
};

}  // namespace lockswap
