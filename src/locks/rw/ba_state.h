// The state of a BA lock (ba.h): its bits, its nodes and their gates, what can be seen of it at a
// glance, and what is put right in it after a fork.
//
// State (24 bytes, zero = free; node = 32-bit handle):
//   rin       arrivals of readers (28 bits) | kSleepers, kQueued, PHID, PRES
//   rout      departures of readers (28 bits) | kDrain
//   rtail[2]  newest waiting reader of each phase; kOpen: the phase is over or never was;
//             kClosed: its writer is there and nobody waits yet
//   wtail     newest writer
//   whead     the node of the writer that has its turn
// Invariants: PRES is set only by the writer at whead. rtail[p] is meaningful only to readers that
//   announced themselves by kQueued while PRES was set with phase p. In drain mode rout counts up
//   to 0 instead of up to rin.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// A waiting thread, or the writer that owns. A line of its own: its thread spins on it.
template <Platform P>
struct alignas(64) BaNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's while free; else next writer
  typename P::template atomic<std::uint32_t> gate;  // kGateShut, kGateSleeper; 0 = open
  // Of the writer that has its turn: how many readers had arrived when it set PRES, and kRecorded.
  // Forked children read it.
  typename P::template atomic<std::uint32_t> arrivals_at_phase;
};

template <Platform P, WaitPolicy<P> W>
class BaState {
 public:
  // --- glimpses, which may be old at once
  // Never false while a hold stays: rout is read first (acquire: pairs with read_unlock, so that
  // the arrivals of the readers that left are seen), and the arrivals that are read later are more
  // by that hold.
  bool has_readers() const noexcept {
    const std::uint32_t left = rout_.load(acquire);
    return left != (rin_.load(relaxed) & kCount);
  }
  bool has_writer() const noexcept {
    return (rin_.load(acquire) & kPresent) != 0;  // acquire: pairs with write_unlock
  }
  bool idle() const noexcept {
    const std::uint32_t v = rin_.load(relaxed);  // for tests, when all threads have ended
    return (v & kPresent) == 0 && all_left(v) && wtail_.load(relaxed) == 0;
  }
  bool too_many_readers() const noexcept {
    // acquire: pairs with read_unlock, so not more are seen to have left than to have arrived.
    const std::uint32_t left = rout_.load(acquire);
    if ((left & kDrain) != 0) return false;  // rout counts something else for a moment
    return (rin_.load(relaxed) & kCount) - left >= kCount / 2;
  }

  // --- in a forked child (LockCore). relaxed, all: the fork handed on what threads did, and the
  // contract hands on what happens here.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint32_t v = rin_.load(relaxed);
    const Handle tail = wtail_.load(relaxed);
    if ((v & kPresent) == 0 || !written) return (v & kPresent) == 0 && !written && tail == 0;
    return tail != 0 && tail == whead_.load(relaxed) && Nodes::at(tail).link.load(relaxed) == 0 &&
           (v & (kQueued | kSleepers)) == 0 && all_left(v);
  }
  // Readers that arrived after what the node at whead has recorded waited for a writer that does
  // not exist, and so did the writers in the queue: both are dropped. A reader that may have
  // arrived before is a holder. The nodes of those that waited are lost.
  void repair_after_fork(bool written) noexcept {
    const std::uint32_t v = rin_.load(relaxed);
    const Handle head = whead_.load(relaxed);
    const std::uint32_t arrivals_at_phase =
        (v & kPresent) == 0 ? 0 : Nodes::at(head).arrivals_at_phase.load(relaxed);
    const std::uint32_t readers =
        ((arrivals_at_phase & kRecorded) == 0 ? v : arrivals_at_phase) & kCount;
    if ((rout_.load(relaxed) & kDrain) != 0) rout_.fetch_add(readers - kDrain, relaxed);
    if (written) {
      rtail_[(v & kPhaseId) >> kPhaseIdShift].store(kClosed, relaxed);
      Nodes::at(head).link.store(0, relaxed);
    }
    rin_.store(readers | (v & (written ? kPhase : kPhaseId)), relaxed);
    wtail_.store(written ? head : 0, relaxed);
  }

 protected:
  using Node = BaNode<P>;
  using Nodes = typename P::template nodes<Node>;
  using Handle = std::uint32_t;
  using Atom = typename P::template atomic<std::uint32_t>;

  static constexpr std::uint32_t kPresent = 1;  // a writer has its turn
  static constexpr std::uint32_t kPhaseId = 2;  // toggles with each writer
  static constexpr int kPhaseIdShift = 1;
  static constexpr std::uint32_t kQueued = 4;    // while PRES: a reader goes to rtail
  static constexpr std::uint32_t kSleepers = 8;  // while PRES: somebody sleeps on rin
  static constexpr std::uint32_t kReader = 16;
  static constexpr std::uint32_t kCount = ~(kReader - 1);
  static constexpr std::uint32_t kPhase = kPresent | kPhaseId;
  static constexpr std::uint32_t kDrain = 1;  // in rout: it counts up to 0

  static constexpr std::uint32_t kRecorded = 1;  // beside a count in a node's arrivals_at_phase

  static constexpr Handle kOpen = 0;
  static constexpr Handle kClosed = ~Handle{0};

  static constexpr std::uint32_t kGateShut = 1;
  static constexpr std::uint32_t kGateSleeper = 2;
  static constexpr std::uint32_t kAnyChannel = 1;

  static Handle new_node() noexcept {
    const Handle h = Nodes::take();
    Nodes::at(h).link.store(0, relaxed);  // published by the exchange that enqueues it
    return h;
  }

  static void wait_at(Atom& gate) noexcept {
    // acquire: pairs with open.
    W::until(gate, acquire, kGateSleeper, kAnyChannel, nullptr,
             [](std::uint32_t v) { return (v & kGateShut) == 0; });
  }
  // After the exchange the node may be another's already: a late wake is only a stray one.
  static void open(Node& node) noexcept {
    // release: what the opener knows of earlier critical sections; pairs with wait_at.
    const std::uint32_t was = node.gate.exchange(0, release);
    if constexpr (W::kParks) {
      if ((was & kGateSleeper) != 0) W::wake(&node.gate, kAnyChannel);
    }
  }

  bool all_left(std::uint32_t v) const noexcept {
    return rout_.load(acquire) == (v & kCount);  // acquire: pairs with read_unlock
  }

  Atom rin_{};
  Atom rout_{};
  Atom rtail_[2]{};
  Atom wtail_{};
  Atom whead_{};
};

}  // namespace lockswap
