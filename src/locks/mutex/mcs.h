// mcs: a queue lock in which each thread waits on a word of its own.
//
// Paper: J. Mellor-Crummey, M. Scott, "Algorithms for scalable synchronization on shared-memory
//   multiprocessors" (ACM TOCS 1991), section 2.4. Giving up: B. He, W. Scherer, M. Scott,
//   "Preemption adaptivity in time-published queue-based spin locks" (HiPC 2005), section 3: a
//   thread that times out leaves its node, and the release skips it. Here a thread that arrives
//   with a deadline takes over such a node, and its place in the queue, if there is one.
// Idea: an arriving thread puts its node at the tail of the queue, links the previous node to it,
//   and waits until that node's thread opens its gate. A release opens the gate of the next node.
// State (8 bytes, zero = free; node = 32-bit handle):
//   tail    the newest node; 0: nobody holds the lock or waits
//   holder  the holder's node
// Invariants: only the holder writes `holder`. A node in the queue is given back by its thread or,
//   if that has timed out, by the release that skips it. The gate of a node whose thread has timed
//   out names the lock, so a thread that finds the node knows its queue.
// Fairness: first come, first served, except that a thread which takes over a node gets its place.
//   A trylock gets the lock only when nobody is in the queue.
// Space: a node for each thread that holds the lock or waits. Nodes of threads that timed out stay
//   in the queue until a release skips them; as long as the lock does not change hands, other
//   threads take them over. So there are about as many nodes as there were threads at once, no
//   matter how often they retry.
// Deviations: the lock names the holder's node, so any thread may release it.
// Destroy is safe: the last access to the lock is the compare-exchange on the tail, whether it
//   leaves the queue empty or finds a successor. What follows touches only nodes.
#pragma once

#include <cstdint>

#include "locks/common/lock_info.h"
#include "locks/mutex/node_queue.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// It has a cache line of its own, because its thread spins on it.
template <Platform P>
struct alignas(64) McsNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's while free; else the next node
  // kShut and kSleepers while it is shut, and 0 when it is open. If its thread has timed out, this
  // is the lock's address and kAbandoned.
  typename P::template atomic<std::uint64_t> gate;
};

template <Platform P, WaitPolicy<P> W>
class alignas(8) Mcs : public NodeQueue<Mcs<P, W>, P, McsNode<P>> {
  friend NodeQueue<Mcs<P, W>, P, McsNode<P>>;
  using Base = NodeQueue<Mcs<P, W>, P, McsNode<P>>;
  using Base::close_queue, Base::enter, Base::holder_, Base::kLeft, Base::own, Base::tail_;
  using typename Base::Handle, typename Base::Node, typename Base::Nodes;

 public:
  static constexpr LockInfo kInfo = Base::info("queue lock: each waiter spins on its own node",
                                               "Mellor-Crummey and Scott 1991, section 2.4", 95);

  void slow_lock(std::uint64_t arrival) noexcept {
    const auto me = static_cast<Handle>(arrival);
    line_up(static_cast<Handle>(arrival >> 32), me);
    wait_at(me, nullptr);
    own(me);
  }

  bool lock_until(const Deadline* deadline) noexcept {
    if (try_lock()) return true;
    if (P::passed(*deadline)) return false;
    Handle me = take_over();
    if (me == 0) {
      const std::uint64_t arrival = enter(Nodes::take());
      if (arrival == 0) return true;
      me = static_cast<Handle>(arrival);
      line_up(static_cast<Handle>(arrival >> 32), me);
    }
    if (!wait_at(me, deadline)) return false;
    own(me);
    return true;
  }

  bool try_lock() noexcept {
    if (tail_.load(relaxed) != 0) return false;  // the compare-exchange decides
    const Handle me = Nodes::take();
    Nodes::at(me).link.store(0, relaxed);  // as in enter
    Handle none = 0;
    if (!tail_.compare_exchange(none, me, acq_rel)) {  // as in enter
      Nodes::give(me);
      return false;
    }
    own(me);
    return true;
  }

  void slow_unlock(std::uint32_t rest) noexcept {
    if ((rest & kLeft) == 0) hand_off(rest);  // else the lock may be gone
    Nodes::give(rest & ~kLeft);
  }

  bool idle() const noexcept {
    // acquire: pairs with close_queue; a thread that sees the lock free may use its memory for
    // something else.
    return tail_.load(acquire) == 0;
  }

 private:
  static constexpr std::uint64_t kShut = 1;
  static constexpr std::uint64_t kSleepers = 2;   // while kShut: its thread sleeps
  static constexpr std::uint64_t kAbandoned = 4;  // its thread has timed out
  static constexpr std::uint32_t kChannel = 1;

  // See NodeQueue.
  static void renew(Handle me) noexcept { Nodes::at(me).link.store(0, relaxed); }
  static bool is_new(Handle me) noexcept { return Nodes::at(me).link.load(relaxed) == 0; }

  static void line_up(Handle before, Handle me) noexcept {
    Nodes::at(me).gate.store(kShut, relaxed);   // published by the next line
    Nodes::at(before).link.store(me, release);  // pairs with hand_off
  }
  // Returns false if the deadline has passed first. The node then belongs to the queue.
  [[gnu::noinline]] bool wait_at(Handle me, const Deadline* deadline) noexcept {
    Node& node = Nodes::at(me);
    const auto is_open = [](std::uint64_t v) { return (v & kShut) == 0; };
    // acquire: pairs with the exchange in hand_off.
    if (W::until(node.gate, acquire, kSleepers, kChannel, deadline, is_open)) return true;
    std::uint64_t v = node.gate.load(acquire);  // if it is open, as above
    while (!is_open(v)) {
      // relaxed: nothing was read or written under the lock.
      if (node.gate.compare_exchange(v, abandoned(), relaxed)) return false;
      v = node.gate.load(acquire);
    }
    return true;
  }
  std::uint64_t abandoned() const noexcept {
    static_assert(alignof(Mcs) > kAbandoned);
    return reinterpret_cast<std::uintptr_t>(this) | kAbandoned;
  }

  // Takes over a node in the queue whose thread has timed out, or returns 0 if it finds none.
  // Searches only as long as the lock has the same holder, because a release skips such nodes.
  [[gnu::noinline]] Handle take_over() noexcept {
    // All relaxed: a node of another queue does no harm, since the compare-exchange recognises this
    // queue's nodes, and the lock itself synchronises the rest.
    const Handle holder = holder_.load(relaxed);
    Handle h = holder;
    while (h != 0 && holder_.load(relaxed) == holder) {
      h = Nodes::at(h).link.load(relaxed);
      std::uint64_t left = abandoned();
      if (h != 0 && Nodes::at(h).gate.load(relaxed) == left &&
          Nodes::at(h).gate.compare_exchange(left, kShut, relaxed)) {
        return h;
      }
    }
    return 0;
  }

  // Opens the gate of the first thread behind `me` that still waits, or leaves the queue empty if
  // there is none.
  [[gnu::noinline]] void hand_off(Handle me) noexcept {
    for (Handle last = me;;) {
      // A thread has swapped itself in and is about to link. acquire: pairs with its link.
      Node& node = Nodes::at(last);
      P::await(Pause::nap, node.link, acquire, [](Handle next) { return next != 0; });
      const Handle next = node.link.load(relaxed);
      if (last != me) Nodes::give(last);
      // release: the critical section; pairs with wait_at.
      const std::uint32_t was = Nodes::at(next).gate.exchange(0, release);
      if ((was & kAbandoned) == 0) {
        // It may already be another thread's node, for which a late wake is spurious.
        if constexpr (W::kParks) {
          if ((was & kSleepers) != 0) W::wake(&Nodes::at(next).gate, kChannel);
        }
        return;
      }
      P::check([this, was] { return was == static_cast<std::uint32_t>(abandoned()); });
      last = next;
      if (close_queue(last)) {
        Nodes::give(last);
        return;
      }
    }
  }
};

// This lock under the names of the rwlocks ba and bravo-ba, which are an MCS lock if every thread
// writes.
inline constexpr LockInfo kBaAsMutex{
    .summary = "the queue of BA's writers, an MCS lock",
    .source = "Brandenburg and Anderson 2010, section 4, PF-Q",
    .fairness = "first come first served",
    .aliases = {"PF-Q", "PFQ"},
    .instructions = 95,
};
inline constexpr LockInfo kBravoBaAsMutex{
    .summary = "the same as ba: BRAVO changes nothing where nobody reads",
    .source = "Dice and Kogan 2019, listing 1",
    .fairness = kBaAsMutex.fairness,
    .aliases = {"bravo-PF-Q"},
    .instructions = kBaAsMutex.instructions,
};

}  // namespace lockswap
