// The queue of a BA lock's writers (ba.h): an MCS queue whose waiters may leave.
//
// Papers: those of mutex/mcs.h. A timed writer that gives up leaves its node in the queue; the
//   thread that passes the turn on passes over it. A timed writer that comes takes over such a
//   node, if it finds one, and with it the place.
// Deviation: the turn is passed on in two steps. Before the lock is released the next writer is
//   claimed, after which it may not leave; after that its gate is opened. Between the two the lock
//   may not be touched: the writers in the queue may have left, and readers been in and out.
// Invariants: a node in the queue is given back by its thread, or, if that has left, by the thread
//   that passes over it. The gate of a node whose thread has left names the lock.
// Space: about as many nodes as threads were in the queue at once.
#pragma once

#include <cstdint>

#include "locks/rw/ba_readers.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class BaWriters : public BaReaders<P, W> {
  using Base = BaReaders<P, W>;

 protected:
  using Base::is_free, Base::is_shut, Base::kAbandoned, Base::kClaimed, Base::kMayLeave,
      Base::kPhase, Base::kShut, Base::open, Base::wait_at, Base::whead_, Base::word_, Base::wtail_;
  using typename Base::Handle, typename Base::Node, typename Base::Nodes;

  // Each of the three returns a node that is at the head of the queue, or 0: the deadline has
  // passed, or somebody is in the queue.
  Handle queue_up() noexcept {
    const Handle me = new_node();
    const Handle before = enter(me);
    if (before != 0) {
      line_up(before, me, kShut);
      wait_at(Nodes::at(me), nullptr);
    }
    return me;
  }
  Handle queue_up_until(const Deadline* deadline) noexcept {
    Handle me = take_over();
    if (me == 0) {
      me = new_node_until(deadline);
      if (me == 0) return 0;
      const Handle before = enter(me);
      if (before == 0) return me;
      line_up(before, me, kShut | kMayLeave);
    }
    return wait_or_leave(me, deadline) ? me : 0;
  }
  Handle try_queue_up() noexcept {
    if (wtail_.load(relaxed) != 0) return 0;  // the compare-exchange decides
    const Handle me = new_node();
    Handle none = 0;
    if (wtail_.compare_exchange(none, me, acq_rel)) return me;  // as in enter
    Nodes::give(me);
    return 0;
  }

  // For the writer at the head: its own next() is the last access to the lock; 0: nobody comes
  // next. Then pass_turn, which touches nodes only.
  Handle claim_next(Handle me) noexcept {
    for (Handle last = me;;) {
      if (close_queue(last)) {
        if (last != me) Nodes::give(last);
        return 0;
      }
      Node& node = Nodes::at(last);
      // Somebody has swapped itself in and is about to link itself. acquire: pairs with line_up.
      P::await(Pause::nap, node.link, acquire, [](Handle next) { return next != 0; });
      const Handle next = node.link.load(relaxed);
      if (last != me) Nodes::give(last);
      if (claim(Nodes::at(next))) return next;
      last = next;
    }
  }
  static void pass_turn(Handle me, Handle next) noexcept {
    if (next != 0) open(Nodes::at(next), 0);
    Nodes::give(me);
  }

 private:
  static Handle new_node() noexcept { return ready(Nodes::take()); }
  // 0: the deadline has passed, and there is no memory.
  static Handle new_node_until(const Deadline* deadline) noexcept {
    Handle h = Nodes::try_take();
    for (unsigned round = 0; h == 0; ++round) {
      if (P::passed(*deadline)) return 0;
      P::step_aside(round);
      h = Nodes::try_take();
    }
    return ready(h);
  }
  static Handle ready(Handle h) noexcept {
    Nodes::at(h).link.store(0, relaxed);  // published by the update that enqueues it
    return h;
  }
  Handle enter(Handle me) noexcept {
    // acq_rel: release, the node is ready before others find it; acquire, pairs with close_queue
    // of the writer that left the queue empty.
    return wtail_.exchange(me, acq_rel);
  }
  static void line_up(Handle before, Handle me, std::uint64_t gate) noexcept {
    Nodes::at(me).gate.store(gate, relaxed);    // published by the next line
    Nodes::at(before).link.store(me, release);  // pairs with claim_next
  }

  bool wait_or_leave(Handle me, const Deadline* deadline) noexcept {
    Node& node = Nodes::at(me);
    if (wait_at(node, deadline)) return true;
    std::uint64_t v = node.gate.load(relaxed);
    while (is_shut(v) && (v & kClaimed) == 0) {
      // relaxed: nothing was read or written under the lock.
      if (node.gate.compare_exchange(v, abandoned(), relaxed)) return false;
    }
    // The thread that has claimed this one is about to open the gate.
    wait_at(node, nullptr);
    return true;
  }
  std::uint64_t abandoned() const noexcept {
    static_assert(alignof(BaWriters) > kAbandoned);
    return reinterpret_cast<std::uintptr_t>(this) | kAbandoned;
  }

  // A node in the queue whose thread has left is this thread's from now on. 0: none was found.
  // Looks only as long as the same writer has its turn.
  Handle take_over() noexcept {
    // relaxed, all: a wrong way does no harm, since the compare-exchange knows this queue's nodes,
    // and what has to be seen of them comes with the turn.
    const std::uint64_t phase = word_.load(relaxed) & kPhase;
    Handle h = is_free(phase) ? 0 : whead_.load(relaxed);
    while (h != 0 && (word_.load(relaxed) & kPhase) == phase) {
      h = Nodes::at(h).link.load(relaxed);
      std::uint64_t left = abandoned();
      if (h != 0 && Nodes::at(h).gate.load(relaxed) == left &&
          Nodes::at(h).gate.compare_exchange(left, kShut | kMayLeave, relaxed)) {
        return h;
      }
    }
    return 0;
  }

  // False: its thread has left, and nobody can take the node over any more.
  static bool claim(Node& node) noexcept {
    // relaxed, all: its thread learns nothing by it but that it has to stay.
    std::uint64_t v = node.gate.load(relaxed);
    for (;;) {
      if ((v & kAbandoned) != 0) {
        if (node.gate.compare_exchange(v, 0, relaxed)) return false;
      } else if ((v & kMayLeave) == 0 || node.gate.compare_exchange(v, v | kClaimed, relaxed)) {
        return true;
      }
    }
  }

  // True: nobody came behind that node, the queue is empty.
  bool close_queue(Handle last) noexcept {
    Handle expected = last;
    // Hot and uncontended: one look at the node, one compare-exchange.
    // release: the critical section; pairs with the acquire of the writer that finds the queue
    // empty.
    return Nodes::at(last).link.load(relaxed) == 0 && wtail_.compare_exchange(expected, 0, release);
  }
};

}  // namespace lockswap
