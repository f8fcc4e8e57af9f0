// The readers of a BA lock (ba.h) that wait for the end of a phase, each at the gate of its node.
//
// Idea: a reader pushes its node onto the list, and remembers in a local variable which node was
//   there before. The leaving writer takes the whole list and opens the newest gate, and each
//   reader opens the gate of the node before its own. An open gate contains the phase that is over,
//   so a reader that waits for another one rechecks.
// A reader may leave the list. If its node is the newest, it takes the node out. Otherwise it marks
//   its gate as abandoned and writes down there where the list goes on. The thread that comes to
//   open that gate gives the node back and opens the next one instead. A leaving reader also gives
//   back abandoned nodes right below its own, which nobody else can reach until its gate is open.
// Invariants: only one thread can open a given gate: the newest one is opened by the thread that
//   takes the list, any other by the thread of the node above. A reader that sleeps in the list has
//   set kQueued after its push, while the phase lasted and its writer was not leaving yet
//   (kLeaving), so this writer takes it. A reader that misses this window takes the whole list and
//   makes the others retry.
// Why kLeaving: the writer must empty the list before it clears PRES (end_phase in ba.h). After
//   that, the readers in the list may have left, others may have come and gone, and the lock may be
//   destroyed.
// Space: each waiting reader finds at most the nodes of those that have left since the phase began
//   or since the reader above them left: a few per waiting thread.
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
class BaReaderList {
  using Word = BaWord;
  using Gates = BaGates<P, W>;
  using Node = BaNode<P>;
  using Nodes = typename P::template nodes<Node>;

 public:
  using Handle = std::uint32_t;
  using WordAtom = typename P::template atomic<std::uint64_t>;

  // `word`, here and below, is the lock's. Returns true if the phase is over, so that its readers
  // hold the lock, and false if the deadline has passed.
  [[gnu::noinline]] bool wait_for_end(WordAtom& word, std::uint32_t phase,
                                      const Deadline* deadline) noexcept {
    for (;;) {
      // acquire, also below: pairs with end_phase.
      const std::uint64_t v = word.load(acquire);
      if (Word::is_over(v, phase)) return true;
      // Without memory for a node it waits like a reader that is too late for the list; a deadline
      // or its patience limits that wait.
      const Handle me = (v & Word::kLeaving) != 0 ? 0 : Nodes::try_take();
      if (me == 0) {
        return W::until(word, acquire, Word::kSleepers, Word::kChannel, deadline,
                        [phase](std::uint64_t now) { return Word::is_over(now, phase); });
      }
      switch (wait_in_list(word, me, phase, deadline)) {
        case Waited::till_end:
          return true;
        case Waited::till_deadline:
          return Word::is_over(word.load(acquire), phase);
        case Waited::in_vain:
          break;
      }
    }
  }

  // Takes the whole list, for the writer that has set kLeaving. Returns its newest node, which
  // open_list needs.
  Handle take_all() noexcept {
    // acq_rel: pairs with the pushes in wait_in_list. The release publishes kLeaving.
    return rtail_.exchange(0, acq_rel);
  }
  // Opens the newest gate whose thread still waits.
  static void open_list(Handle newest, std::uint64_t ended) noexcept {
    for (Handle h = newest; h != 0;) {
      Node& node = Nodes::at(h);
      if ((Gates::open(node, ended) & Gates::kAbandoned) == 0) return;
      const Handle before = node.link.load(relaxed);  // handed on with the gate
      Nodes::give(h);
      h = before;
    }
  }

  // For tests, when all threads have ended, and in a forked child.
  bool nobody() const noexcept { return rtail_.load(relaxed) == 0; }
  // Called in a forked child. The nodes are leaked.
  void drop_all() noexcept { rtail_.store(0, relaxed); }

 private:
  static constexpr std::uint64_t kLookAgain = 0;  // an open gate

  enum class Waited { till_end, till_deadline, in_vain };
  Waited wait_in_list(WordAtom& word, Handle me, std::uint32_t phase,
                      const Deadline* deadline) noexcept {
    Node& node = Nodes::at(me);
    node.gate.store(Gates::kShut, relaxed);  // published by the exchange
    // release: publishes this node. acquire: the previous one, and kLeaving if a writer took the
    // list before this. Exchanges continue each other's release sequences.
    const Handle before = rtail_.exchange(me, acq_rel);
    if (!announce(word, phase)) {
      take_list(me, before);
      return Waited::in_vain;
    }
    if (!Gates::wait_at(node, deadline)) {
      leave(me, before);
      return Waited::till_deadline;
    }
    const std::uint64_t ended = node.gate.load(relaxed);  // changes no more
    open_list(before, ended);
    Nodes::give(me);
    return ended >> Gates::kEndedShift == phase ? Waited::till_end : Waited::in_vain;
  }

  // Returns true if that phase's writer will take the list, false if it may have done so.
  static bool announce(WordAtom& word, std::uint32_t phase) noexcept {
    // relaxed: the push has acquired kLeaving, if it was set.
    std::uint64_t v = word.load(relaxed);
    while (!Word::is_over(v, phase) && (v & Word::kLeaving) == 0) {
      // relaxed: the writer takes the list after it has set kLeaving, which comes later in this
      // word; so it finds the push, which would have shown kLeaving otherwise.
      if ((v & Word::kQueued) != 0 || word.compare_exchange(v, v | Word::kQueued, relaxed))
        return true;
    }
    return false;
  }

  // Makes all readers in the list recheck: each waits for another phase, or will find that its
  // phase is over.
  void take_list(Handle me, Handle before) noexcept {
    // acquire: pairs with the pushes.
    const Handle newest = rtail_.exchange(0, acquire);
    if (newest == me) {
      Nodes::give(me);
      open_list(before, kLookAgain);
    } else {
      open_list(newest, kLookAgain);
      abandon(me, before);
    }
  }

  void leave(Handle me, Handle before) noexcept {
    // acquire: pairs with abandon.
    while (before != 0 && (Nodes::at(before).gate.load(acquire) & Gates::kAbandoned) != 0) {
      const Handle gone = before;
      before = Nodes::at(gone).link.load(relaxed);
      Nodes::give(gone);
    }
    Handle expected = me;
    // Both relaxed: if this is the newest node, all below are still in the list as they were, and
    // the RMW continues their release sequences.
    if (rtail_.load(relaxed) == me && rtail_.compare_exchange(expected, before, relaxed)) {
      Nodes::give(me);
    } else {
      abandon(me, before);
    }
  }
  // From then on the node belongs to the thread that comes to open its gate.
  static void abandon(Handle me, Handle before) noexcept {
    Node& node = Nodes::at(me);
    node.link.store(before, relaxed);  // published by the next line
    // release: the link; pairs with open and leave. acquire: pairs with open if that came first.
    const std::uint64_t was = node.gate.exchange(Gates::kAbandoned, acq_rel);
    if (Gates::is_shut(was)) return;
    open_list(before, was);
    Nodes::give(me);
  }

  typename P::template atomic<Handle> rtail_{};  // the newest node; 0: nobody is in the list
};

}  // namespace lockswap
