// The readers of a BA lock (ba.h) that wait for the end of a phase, each at the gate of its node.
//
// Idea: a reader pushes its node on the list; only its own thread knows which node was there before
//   it. The writer that leaves takes the list away and opens the newest gate, and each reader opens
//   the gate of the one before it. An open gate says which phase is over: a reader that waits for
//   another one looks again.
// A reader may leave. It takes its node out if that is the newest, else it marks the gate as
//   abandoned and notes there where the list goes on; the thread that comes to open it gives the
//   node back and opens the next instead. A reader that leaves also clears away abandoned nodes
//   right below its own: until its gate is open, nobody else can come to them.
// Invariants: only one thread can open a gate: of the newest node the thread that takes the list,
//   of each other the thread of the node above.
//   A reader in the list whose thread sleeps has announced itself by kQueued after it was pushed,
//   while the phase was open and its writer not yet leaving (kLeaving). So that writer takes it.
//   A reader that was too late for that takes the list itself, and has all others look again.
// Why kLeaving: the writer must empty the list before it takes PRES away. After that the readers in
//   the list may have left, others may have been in and out, and the lock may be gone.
// Space: each waiting reader finds at most the nodes of those that have left since the phase began
//   or since the reader above them left: some for each thread that waits.
#pragma once

#include <cstdint>

#include "locks/rw/ba_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class BaReaders : public BaState<P, W> {
  using Base = BaState<P, W>;

 protected:
  using Base::is_shut, Base::kAbandoned, Base::kAnyChannel, Base::kEndedShift, Base::kLeaving,
      Base::kOnePhase, Base::kPhase, Base::kPhaseNumber, Base::kArrived, Base::kPresent,
      Base::kQueued, Base::kShut, Base::kSleepers, Base::open, Base::rtail_, Base::wait_at,
      Base::word_;
  using typename Base::Handle, typename Base::Node, typename Base::Nodes;

  static bool is_over(std::uint64_t v, std::uint32_t phase) noexcept {
    return (v & kPhase) != phase;
  }

  // True: the phase is over, so its readers are in. False: the deadline has passed.
  [[gnu::noinline]] bool wait_for_end(std::uint32_t phase, const Deadline* deadline) noexcept {
    for (;;) {
      // acquire, also below: pairs with end_phase.
      const std::uint64_t v = word_.load(acquire);
      if (is_over(v, phase)) return true;
      // Without memory it waits as one that is too late for the list: a deadline, or its patience,
      // may end that wait.
      const Handle me = (v & kLeaving) != 0 ? 0 : Nodes::try_take();
      if (me == 0) {
        return W::until(word_, acquire, kSleepers, kAnyChannel, deadline,
                        [phase](std::uint64_t now) { return is_over(now, phase); });
      }
      switch (wait_in_list(me, phase, deadline)) {
        case Waited::till_end:
          return true;
        case Waited::till_deadline:
          return is_over(word_.load(acquire), phase);
        case Waited::in_vain:
          break;
      }
    }
  }

  // For the writer that has its turn: readers that waited are in. Its last access to the lock.
  void end_phase() noexcept {
    std::uint64_t v = word_.load(relaxed);
    const std::uint64_t phase = v & kPhase;
    Handle newest = 0;
    for (;;) {
      if ((v & (kQueued | kLeaving)) == kQueued) {
        // relaxed: a reader that pushes itself after the next line sees this; that is acq_rel.
        v = word_.fetch_or(kLeaving, relaxed) | kLeaving;
        // acquire: the nodes. release: kLeaving; pairs with the push in wait_in_list.
        newest = rtail_.exchange(0, acq_rel);
      }
      const std::uint64_t next = (v & kArrived) | ((v + kOnePhase) & kPhaseNumber);
      // release: the critical section; pairs with the acquires of readers here and in ba.h, and
      // with the loads of has_writer. The next writer gets it with the queue.
      if (word_.compare_exchange(v, next, release)) break;
    }
    P::check([v, phase] { return (v & kPhase) == phase; });
    if constexpr (W::kParks) {
      if ((v & kSleepers) != 0) W::wake(&word_, kAnyChannel);
    }
    open_list(newest, phase << kEndedShift);
  }

 private:
  static constexpr std::uint64_t kLookAgain = 0;  // an open gate

  enum class Waited { till_end, till_deadline, in_vain };
  Waited wait_in_list(Handle me, std::uint32_t phase, const Deadline* deadline) noexcept {
    Node& node = Nodes::at(me);
    node.gate.store(kShut, relaxed);  // published by the exchange
    // release: this node. acquire: the one before; and if the list was taken by a writer before
    // this, that it is leaving. Exchanges continue each other's release sequences.
    const Handle before = rtail_.exchange(me, acq_rel);
    if (!announce(phase)) {
      take_list(me, before);
      return Waited::in_vain;
    }
    if (!wait_at(node, deadline)) {
      leave(me, before);
      return Waited::till_deadline;
    }
    const std::uint64_t ended = node.gate.load(relaxed);  // changes no more
    open_list(before, ended);
    Nodes::give(me);
    return ended >> kEndedShift == phase ? Waited::till_end : Waited::in_vain;
  }

  // True: the writer of that phase will take the list. False: it may have done so.
  bool announce(std::uint32_t phase) noexcept {
    // relaxed: that a writer is leaving came with the push.
    std::uint64_t v = word_.load(relaxed);
    while ((v & (kPhase | kLeaving)) == phase) {
      // relaxed: the writer takes the list after it has set kLeaving, which comes later in this
      // word; so it finds the push, which would have shown kLeaving otherwise.
      if ((v & kQueued) != 0 || word_.compare_exchange(v, v | kQueued, relaxed)) return true;
    }
    return false;
  }

  // A reader that waits there waits for another phase, or will find that its phase is over.
  void take_list(Handle me, Handle before) noexcept {
    // acquire: the nodes.
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
    while (before != 0 && (Nodes::at(before).gate.load(acquire) & kAbandoned) != 0) {
      const Handle gone = before;
      before = Nodes::at(gone).link.load(relaxed);
      Nodes::give(gone);
    }
    Handle expected = me;
    // relaxed, both: if this is the newest node, all below are still in the list as they were, and
    // the update continues their release sequences.
    if (rtail_.load(relaxed) == me && rtail_.compare_exchange(expected, before, relaxed)) {
      Nodes::give(me);
    } else {
      abandon(me, before);
    }
  }
  // From then on the node belongs to the thread that comes to open its gate.
  static void abandon(Handle me, Handle before) noexcept {
    Node& node = Nodes::at(me);
    node.link.store(before, relaxed);  // handed on by the next line
    // release: the link; pairs with open and leave. acquire: if the gate is open, pairs with open.
    const std::uint64_t was = node.gate.exchange(kAbandoned, acq_rel);
    if (is_shut(was)) return;
    open_list(before, was);
    Nodes::give(me);
  }

  // Opens the newest gate whose thread is there.
  static void open_list(Handle newest, std::uint64_t ended) noexcept {
    for (Handle h = newest; h != 0;) {
      Node& node = Nodes::at(h);
      if ((open(node, ended) & kAbandoned) == 0) return;
      const Handle before = node.link.load(relaxed);  // handed on with the gate
      Nodes::give(h);
      h = before;
    }
  }
};

}  // namespace lockswap
