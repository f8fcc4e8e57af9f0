// The queue of a BA lock's writers (ba.h): an MCS queue whose waiters may leave.
//
// Papers: those of mutex/mcs.h. A timed writer that times out leaves its node in the queue, and the
//   thread that passes the turn on skips it. A timed writer that arrives takes over such a node if
//   it finds one, and its place with it.
// Deviation: the turn is passed on in two steps, because the lock may not be touched after its
//   release. (The queued writers may have left by then, and readers may have come and gone.) Before
//   the release the next writer is claimed, after which it may not leave, and after the release its
//   gate is opened.
// Invariants: a node in the queue is given back by its thread or, if that has left, by the thread
//   that skips it. The gate of a node whose thread has left names the queue. whead is the node of
//   the writer at the head of the queue, as long as PRES is set.
// Space: about as many nodes as threads were in the queue at once.
#pragma once

#include <cstdint>

#include "locks/rw/ba_node.h"
#include "locks/rw/ba_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class alignas(8) BaWriterQueue {
  using Word = BaWord;
  using Gates = BaGates<P, W>;
  using Node = BaNode<P>;
  using Nodes = typename P::template nodes<Node>;

 public:
  using Handle = std::uint32_t;
  using WordAtom = typename P::template atomic<std::uint64_t>;

  // Both return a node that is at the head of the queue, or 0 if the deadline has passed.
  Handle queue_up() noexcept {
    const Handle me = new_node();
    const Handle before = enter(me);
    if (before != 0) {
      line_up(before, me, Gates::kShut);
      Gates::wait_at(Nodes::at(me), nullptr);
    }
    return me;
  }
  Handle queue_up_until(const WordAtom& word, const Deadline* deadline) noexcept {
    Handle me = take_over(word);
    if (me == 0) {
      me = new_node_until(deadline);
      if (me == 0) return 0;
      const Handle before = enter(me);
      if (before == 0) return me;
      line_up(before, me, Gates::kShut | Gates::kMayLeave);
    }
    return wait_or_leave(me, deadline) ? me : 0;
  }

  // Called by the writer at the head. Returns the next writer, which can't time out from now on, or
  // 0 if there is none. This is the last access to the lock, since pass_turn, which follows,
  // touches only nodes.
  Handle claim_next(Handle me) noexcept { return close_queue(me) ? 0 : claim_after(me); }
  static void pass_turn(Handle me, Handle next) noexcept {
    if (next != 0) Gates::open(Nodes::at(next), 0);
    Nodes::give(me);
  }

  // The writer that has its turn. relaxed: see stand_at_head.
  Handle head() const noexcept { return whead_.load(relaxed); }
  // Called by the writer at the head before it sets PRES, because forked children rely on whead and
  // its node while PRES is set.
  void stand_at_head(Handle me) noexcept {
    Nodes::at(me).arrivals_at_phase.store(0, relaxed);  // as in record_arrivals of ba.h
    // relaxed: read by readers after drain mode (release), and by this writer's unlock.
    whead_.store(me, relaxed);
  }
  bool is_at_head(Handle me) const noexcept { return head() == me && !nobody(); }

  // relaxed: for a direct writer this is only a check; its compare-exchange acquires. Also for
  // tests, when all threads have ended.
  bool nobody() const noexcept { return wtail_.load(relaxed) == 0; }

  // --- in a forked child. relaxed: fork() orders what threads did.
  // Returns whether the writer that has its turn is the only one in the queue.
  bool is_head_alone() const noexcept {
    const Handle tail = wtail_.load(relaxed);
    return Nodes::is_handle(tail) && tail == head() && Nodes::at(tail).link.load(relaxed) == 0;
  }
  // Drops the waiting writers, whose nodes are leaked, and the one that has its turn unless it
  // stays.
  void drop_all(bool head_stays) noexcept {
    Handle head = head_stays ? whead_.load(relaxed) : 0;
    // The lock may be an unrelated process's that seems to be an ancestor's, so the handle may name
    // no node.
    if (head_stays && !Nodes::is_handle(head)) stand_at_head(head = Nodes::take());
    if (head_stays) Nodes::at(head).link.store(0, relaxed);
    wtail_.store(head, relaxed);
  }

 private:
  static Handle new_node() noexcept { return ready(Nodes::take()); }
  // Returns 0 if the deadline has passed and there is no memory.
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
    Nodes::at(h).link.store(0, relaxed);  // published by the RMW that enqueues it
    return h;
  }
  Handle enter(Handle me) noexcept {
    // acq_rel: release publishes the node; acquire synchronises with the writer that left the queue
    // empty (close_queue).
    return wtail_.exchange(me, acq_rel);
  }
  static void line_up(Handle before, Handle me, std::uint64_t gate) noexcept {
    Nodes::at(me).gate.store(gate, relaxed);    // published by the next line
    Nodes::at(before).link.store(me, release);  // pairs with claim_after
  }

  bool wait_or_leave(Handle me, const Deadline* deadline) noexcept {
    Node& node = Nodes::at(me);
    if (Gates::wait_at(node, deadline)) return true;
    std::uint64_t v = node.gate.load(relaxed);
    while (Gates::is_shut(v) && (v & Gates::kClaimed) == 0) {
      // relaxed: nothing was read or written under the lock.
      if (node.gate.compare_exchange(v, abandoned(), relaxed)) return false;
    }
    // The thread that has claimed this one is about to open the gate.
    Gates::wait_at(node, nullptr);
    return true;
  }
  std::uint64_t abandoned() const noexcept {
    static_assert(alignof(BaWriterQueue) > Gates::kAbandoned);
    return reinterpret_cast<std::uintptr_t>(this) | Gates::kAbandoned;
  }

  // Takes over a node in the queue whose thread has left, or returns 0 if it finds none. Searches
  // only as long as it is the turn of the same writer, as the lock's word says.
  Handle take_over(const WordAtom& word) noexcept {
    // All relaxed: a wrong turn does no harm, because the compare-exchange recognises this queue's
    // nodes, and passing the turn synchronises the rest.
    const std::uint64_t turn = Word::turn_of(word.load(relaxed));
    Handle h = Word::is_absent(turn) ? 0 : whead_.load(relaxed);
    while (h != 0 && Word::turn_of(word.load(relaxed)) == turn) {
      h = Nodes::at(h).link.load(relaxed);
      std::uint64_t left = abandoned();
      if (h != 0 && Nodes::at(h).gate.load(relaxed) == left &&
          Nodes::at(h).gate.compare_exchange(left, Gates::kShut | Gates::kMayLeave, relaxed)) {
        return h;
      }
    }
    return 0;
  }

  // Claims the first one after `me` that still waits, or leaves the queue empty.
  [[gnu::noinline]] Handle claim_after(Handle me) noexcept {
    for (Handle last = me;;) {
      Node& node = Nodes::at(last);
      // Another writer has swapped itself in and is about to link. acquire: pairs with line_up.
      P::await(Pause::nap, node.link, acquire, [](Handle next) { return next != 0; });
      const Handle next = node.link.load(relaxed);
      if (last != me) Nodes::give(last);
      if (claim(Nodes::at(next))) return next;
      last = next;
      if (close_queue(last)) {
        Nodes::give(last);
        return 0;
      }
    }
  }
  // Returns false if its thread has left, and then nobody can take over the node any more.
  static bool claim(Node& node) noexcept {
    // All relaxed: this only tells the node's thread to stay.
    std::uint64_t v = node.gate.load(relaxed);
    for (;;) {
      if ((v & Gates::kAbandoned) != 0) {
        if (node.gate.compare_exchange(v, 0, relaxed)) return false;
      } else if ((v & Gates::kMayLeave) == 0 ||
                 node.gate.compare_exchange(v, v | Gates::kClaimed, relaxed)) {
        return true;
      }
    }
  }

  // Returns true if nobody has queued behind that node, so that the queue is empty.
  bool close_queue(Handle last) noexcept {
    Handle expected = last;
    // Hot and uncontended: one load from the node, one compare-exchange.
    // release: the critical section; pairs with the acquire of the writer that finds the queue
    // empty.
    return Nodes::at(last).link.load(relaxed) == 0 && wtail_.compare_exchange(expected, 0, release);
  }

  typename P::template atomic<Handle> wtail_{};  // the newest node; 0: nobody is in the queue
  typename P::template atomic<Handle> whead_{};
};

}  // namespace lockswap
