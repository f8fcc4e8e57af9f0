// BA: the phase-fair queue lock PF-Q, as the BRAVO paper calls it.
//
// Paper: B. Brandenburg, J. Anderson, "Spin-based reader-writer synchronization for multiprocessor
//   real-time systems", Real-Time Systems 46 (2010), section 4 (PF-Q); called BA in D. Dice,
//   A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019), sections 2 and 5.
// Idea: phase-fair like PF-T, but everybody waits on a word of its own. Writers form an MCS queue.
//   Readers that meet a writer push themselves on a list for that phase; the writer opens the
//   newest one's gate when it leaves, and each reader opens the gate of the one before it. The last
//   reader that a writer waits for opens the writer's gate.
// State (24 bytes, zero = free; node = 32-bit handle):
//   rin   arrived readers (28 bits) | parked, queued, PHID, PRES
//   rout  left readers (28 bits) | kDrain
//   rtail[2]  newest waiting reader of each phase; kOpen: the phase is over or never was;
//             kClosed: its writer is there and nobody waits yet
//   wtail newest writer;  whead  the node of the writer that has its turn
// Invariants: PRES is set only by the writer at whead. rtail[p] is meaningful only to readers that
//   announced themselves by kQueued while PRES was set with phase p. In drain mode rout counts up
//   to 0 instead of to rin.
// Fairness: phase-fair; writers first come, first served. Timed readers count as arrived at once
//   and are admitted with their phase. A timed writer tries again and again: it enters only when
//   nobody is in, has no place in the queue, and an unbroken stream of readers starves it. It
//   cannot open a phase that it may give up: readers of the phase before may not have noticed yet
//   that they are in, and the lists and the phase bit would come round too early.
// Space: a writer holds one node while it waits and while it owns; a reader while it waits.
// Deviations: the writer looks at rout before it asks to be woken, and a writer that no reader met
//   leaves rtail alone: the next writer of that phase overwrites it. A writer that found the queue
//   empty may have to wait on rin for the one before to finish leaving. Timed readers wait on rin,
//   because a reader cannot leave the list. None of this changes who enters when.
// Fork: in a child, readers that arrived after what the node at whead tells waited for a writer
//   that does not exist, and so did writers in the queue: repair_after_fork() drops both. Who may
//   have
//   arrived before is a holder. The nodes of those that waited are lost.
// Destroy is safe: without a successor and without queued readers the writer's last access is the
//   subtraction from rin; with either, somebody is still inside lock() until the last access. A
//   reader's last access is the fetch-add on rout, except the last one of a drain, whose writer
//   cannot leave before its gate is opened. Wakes of an address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"

namespace lockswap {

// A waiting thread, or the writer that owns. A line of its own: its thread spins on it.
template <class P>
struct alignas(64) BaNode {
  typename P::template atomic<std::uint32_t> link;  // the arena's while free; else next writer
  typename P::template atomic<std::uint32_t> gate;  // kGateShut, kGateParked; 0 = open
  // Of the writer that has its turn: how many readers had arrived when it set PRES, and kRecorded.
  // For
  // forked children.
  typename P::template atomic<std::uint32_t> arrivals_at_phase;
};

template <class P, class W>
class Ba {
  using Node = BaNode<P>;
  using Nodes = typename P::template nodes<Node>;
  using Handle = std::uint32_t;

 public:
  static constexpr Claims kClaims{.phase_fair = true, .fifo_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "phase-fair queue lock with local spinning",
      .source = "Brandenburg and Anderson 2010, section 4, PF-Q",
      .fairness =
          "phase-fair, writers first come first served; timed writers only when nobody is in",
      .kinds = "no effect: readers and writers alternate",
      .aliases = {"PF-Q", "PFQ"},
      .instructions = 45,
  };

  static bool prepare() noexcept { return Nodes::prepare(); }

  // What read_arrive returns has no other bits than these.
  static constexpr std::uint32_t kPhaseBits = 3;

  // Counts the reader in. 0: it holds the lock. Otherwise the phase of the writer that it met: go
  // on with read_wait or read_withdraw.
  std::uint32_t read_arrive() noexcept {
    // acquire: pairs with the release in write_unlock, and with enter_phase (rtail is closed).
    const std::uint32_t seen = rin_.fetch_add(kReader, acquire);
    return (seen & kPresent) == 0 ? 0 : seen & kPhase;
  }

  bool read_wait(std::uint32_t phase, const Deadline* deadline) noexcept {
    if (deadline == nullptr) {
      if (announce_queued(phase)) wait_in_list(rtail_[phase >> kPhaseIdShift]);
      return true;
    }
    const auto over = [phase](std::uint32_t v) { return (v & kPhase) != phase; };
    // acquire: pairs with the release in write_unlock.
    if (W::until(rin_, acquire, kSleepers, kAnyChannel, deadline, over)) return true;
    return !read_withdraw(phase);
  }

  // Takes the arrival back while the writer that was met is still there: no later writer can have
  // counted it. False: that writer has left, so the reader holds the lock.
  bool read_withdraw(std::uint32_t phase) noexcept {
    for (;;) {
      std::uint32_t v = rin_.load(acquire);  // if the phase is over, as in read_wait
      if ((v & kPhase) != phase) return false;
      // relaxed: nothing was read or written under the lock.
      if (rin_.compare_exchange(v, v - kReader, relaxed)) return true;
    }
  }

  bool try_read_lock() noexcept {
    std::uint32_t v = rin_.load(relaxed);
    while ((v & kPresent) == 0) {
      if (rin_.compare_exchange(v, v + kReader, acquire)) return true;  // as in read_arrive
    }
    return false;
  }

  void read_unlock() noexcept {
    // release: the reader's critical section; pairs with the acquires in drain. acquire: the last
    // reader passes on to the writer's gate what all readers before it released here.
    const std::uint32_t left = rout_.fetch_add(kReader, acq_rel) + kReader;
    if (left == kDrain) [[unlikely]] {
      // relaxed: whead was written before the drain mode that was just acquired.
      open(Nodes::at(whead_.load(relaxed)));
    }
  }

  void write_lock() noexcept {
    write_lock([] {});
  }
  // Calls before_drain if it has to wait for readers, when new readers wait behind it already.
  template <class F>
  void write_lock(const F& before_drain) noexcept {
    const Handle me = new_node();
    // acq_rel: release, the node is ready before others find it; acquire, pairs with the
    // compare-exchange in leave_queue of the writer that left the queue empty.
    const Handle before = wtail_.exchange(me, acq_rel);
    if (before != 0) {
      Node& node = Nodes::at(me);
      node.gate.store(kGateShut, relaxed);        // published by the next line
      Nodes::at(before).link.store(me, release);  // pairs with await_next
      wait_at(node.gate);
    }
    own(me, before_drain);
  }

  bool write_lock_until(const Deadline* deadline) noexcept {
    for (unsigned round = 0; !try_write_lock(); ++round) {
      if (P::passed(*deadline)) return false;
      const std::uint32_t v = rin_.load(relaxed);
      if ((v & kPresent) == 0) {
        P::step_aside(round);  // readers are in, or a writer is about to be
        continue;
      }
      const auto over = [v](std::uint32_t now) { return ((now ^ v) & kPhase) != 0; };
      if (!W::until(rin_, relaxed, kSleepers, kAnyChannel, deadline, over)) return false;
    }
    return true;
  }

  bool try_write_lock() noexcept {
    // relaxed, all loads of rin here: the writers before come with wtail, the readers with rout.
    std::uint32_t v = rin_.load(relaxed);
    if ((v & kPresent) != 0 || !all_left(v)) return false;
    Handle none = 0;
    const Handle me = new_node();
    if (!wtail_.compare_exchange(none, me, acq_rel)) {  // as in write_lock
      Nodes::give(me);
      return false;
    }
    stand_at_head(me);
    v = rin_.load(relaxed);
    // A glance at PRES and rout each round; the compare-exchange finds out readers that came since.
    while ((v & kPresent) == 0 && all_left(v)) {
      close_list(v);
      if (rin_.compare_exchange(v, with_next_phase(v), release)) {  // as in enter_phase
        record_arrivals(me, v);
        return true;
      }
      v = rin_.load(relaxed);
    }
    if (!leave_queue(me)) hand_over(me);
    Nodes::give(me);
    return false;
  }

  void write_unlock() noexcept {
    const Handle me = whead_.load(relaxed);  // the owner's own; its lock() happened before
    const bool alone = leave_queue(me);
    // PRES and PHID are the owner's. release: the critical section; pairs with the acquires of
    // readers on rin and of the next writer in own.
    const std::uint32_t seen = rin_.fetch_sub(kPresent, release);
    if ((seen & kQueued) != 0) {
      // acq_rel: acquire, the newest waiter's node; release, for a reader that finds kOpen.
      const Handle newest = rtail_[(seen & kPhase) >> kPhaseIdShift].exchange(kOpen, acq_rel);
      if (newest != kClosed) open(Nodes::at(newest));
    }
    if constexpr (W::kParks) {
      if ((seen & kSleepers) != 0) W::wake(&rin_, kAnyChannel);
    }
    if (!alone) hand_over(me);
    Nodes::give(me);
  }

  // Never false while a hold stays: rout is read first (acquire: pairs with read_unlock, so that
  // the arrivals of who left are seen), and what is read of the arrivals later is more by that
  // hold.
  bool has_readers() const noexcept {
    const std::uint32_t left = rout_.load(acquire);
    return left != (rin_.load(relaxed) & kCount);
  }
  bool has_writer() const noexcept { return (rin_.load(acquire) & kPresent) != 0; }
  bool idle() const noexcept {
    const std::uint32_t v = rin_.load(relaxed);  // for tests, when all threads have ended
    return (v & kPresent) == 0 && all_left(v) && wtail_.load(relaxed) == 0;
  }
  bool too_many_readers() const noexcept {
    const std::uint32_t left = rout_.load(acquire);  // as in has_readers: not more than arrived
    if ((left & kDrain) != 0) return false;          // rout counts something else for a moment
    return (rin_.load(relaxed) & kCount) - left >= kCount / 2;
  }

  // --- in a forked child, before its first acquisition; `written`: a writer's hold is among those
  // that stay. relaxed, all: the fork handed on what threads did, and rw_contract.h does so here.
  // True: there are holds and nothing else. Does not change anything. Another thread may be faster,
  // and use the lock already: then this reads any mixture, and what comes of it is not used.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint32_t v = rin_.load(relaxed);
    const Handle tail = wtail_.load(relaxed);
    if ((v & kPresent) == 0 || !written) return (v & kPresent) == 0 && !written && tail == 0;
    return tail != 0 && tail == whead_.load(relaxed) && Nodes::at(tail).link.load(relaxed) == 0 &&
           (v & (kQueued | kSleepers)) == 0 && all_left(v);
  }
  // Drops who waits. Meanwhile holds may end, and the process may fork again: at each step what is
  // left says the same.
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

 private:
  static constexpr std::uint32_t kPresent = 1;  // a writer has its turn
  static constexpr std::uint32_t kPhaseId = 2;  // toggles with each writer
  static constexpr int kPhaseIdShift = 1;
  static constexpr std::uint32_t kQueued = 4;    // while PRES: a reader goes to rtail
  static constexpr std::uint32_t kSleepers = 8;  // while PRES: somebody sleeps on rin
  static constexpr std::uint32_t kReader = 16;
  static constexpr std::uint32_t kCount = ~(kReader - 1);
  static constexpr std::uint32_t kPhase = kPresent | kPhaseId;
  static_assert(kPhase == kPhaseBits);
  static constexpr std::uint32_t kDrain = 1;  // in rout: it counts up to 0; who gets there opens

  static constexpr std::uint32_t kRecorded = 1;  // beside a count in a node's `told`

  static constexpr Handle kOpen = 0;
  static constexpr Handle kClosed = ~Handle{0};

  static constexpr std::uint32_t kGateShut = 1;
  static constexpr std::uint32_t kGateParked = 2;
  static constexpr std::uint32_t kAnyChannel = 1;

  static Handle new_node() noexcept {
    const Handle h = Nodes::take();
    Nodes::at(h).link.store(0, relaxed);  // published by the exchange that enqueues it
    return h;
  }

  static void wait_at(typename P::template atomic<std::uint32_t>& gate) noexcept {
    // acquire: pairs with open.
    W::until(gate, acquire, kGateParked, kAnyChannel, nullptr,
             [](std::uint32_t v) { return (v & kGateShut) == 0; });
  }
  // After the exchange the node may be another's already: a late wake is only a stray one.
  static void open(Node& node) noexcept {
    // release: what the opener knows of earlier critical sections; pairs with wait_at.
    const std::uint32_t was = node.gate.exchange(0, release);
    if constexpr (W::kParks) {
      if ((was & kGateParked) != 0) W::wake(&node.gate, kAnyChannel);
    }
  }

  bool all_left(std::uint32_t v) const noexcept {
    return rout_.load(acquire) == (v & kCount);  // acquire: pairs with read_unlock
  }

  // --- readers

  // True: the writer of that phase will come to rtail. False: it has left, the reader is in.
  bool announce_queued(std::uint32_t phase) noexcept {
    std::uint32_t v = rin_.load(acquire);  // if the phase is over, as in read_arrive
    while ((v & kPhase) == phase) {
      // relaxed: seen by the writer's subtraction from rin, which needs no data with it.
      if ((v & kQueued) != 0 || rin_.compare_exchange(v, v | kQueued, relaxed)) return true;
      v = rin_.load(acquire);
    }
    return false;
  }

  void wait_in_list(typename P::template atomic<Handle>& tail) noexcept {
    const Handle me = new_node();
    Node& node = Nodes::at(me);
    node.gate.store(kGateShut, relaxed);  // published by the exchange
    // release: this node. What was released before comes with the gate, or with kOpen by the next
    // exchange: exchanges continue each other's release sequences.
    const Handle before = tail.exchange(me, release);
    if (before == kOpen) {
      // Too late for the writer. Readers that came behind this one are this one's to let in.
      // acquire: the writer's section, and the newest waiter's node.
      const Handle newest = tail.exchange(kOpen, acquire);
      if (newest != me) {
        open(Nodes::at(newest));
        wait_at(node.gate);
      }
    } else {
      wait_at(node.gate);
      if (before != kClosed) open(Nodes::at(before));
    }
    Nodes::give(me);
  }

  // --- writers

  // The writer is at the head of the queue; only it may set PRES.
  template <class F>
  void own(Handle me, const F& before_drain) noexcept {
    stand_at_head(me);
    const auto gone = [](std::uint32_t v) { return (v & kPresent) == 0; };
    // The writer before may have left the queue but not yet rin. relaxed: what it did under the
    // lock came with the queue, from leave_queue or from open.
    if (!gone(rin_.load(relaxed))) [[unlikely]] {
      W::until(rin_, relaxed, kSleepers, kAnyChannel, nullptr, gone);
    }
    drain(me, enter_phase(me), before_drain);
  }

  void stand_at_head(Handle me) noexcept {
    Nodes::at(me).arrivals_at_phase.store(0, relaxed);  // as in record_arrivals
    // relaxed: read by readers after drain mode (release), and by this writer's unlock.
    whead_.store(me, relaxed);
  }
  static void record_arrivals(Handle me, std::uint32_t v) noexcept {
    // relaxed: read after a fork only, which hands everything on.
    Nodes::at(me).arrivals_at_phase.store((v & kCount) | kRecorded, relaxed);
  }

  void close_list(std::uint32_t v) noexcept {
    // relaxed: published by the release on rin that sets PRES.
    rtail_[(~v & kPhaseId) >> kPhaseIdShift].store(kClosed, relaxed);
  }
  // Sets PRES, toggles PHID, drops the flags of the phase before.
  static std::uint32_t with_next_phase(std::uint32_t v) noexcept {
    return (v & kCount) | kPresent | (~v & kPhaseId);
  }

  // Returns how many readers had arrived, as rout counts them.
  std::uint32_t enter_phase(Handle me) noexcept {
    const std::uint32_t v = rin_.load(relaxed);  // the low bits do not change while PRES is clear
    close_list(v);
    // release: rtail is closed before a reader sees PRES; pairs with read_arrive.
    const std::uint32_t seen = rin_.fetch_add(with_next_phase(v) - v, release);
    record_arrivals(me, seen);
    return seen & kCount;
  }

  template <class F>
  void drain(Handle me, std::uint32_t target, const F& before_drain) noexcept {
    // acquire: pairs with read_unlock.
    if (rout_.load(acquire) == target) [[likely]]
      return;
    before_drain();
    wait_to_drain(me, target);
  }

  [[gnu::noinline]] void wait_to_drain(Handle me, std::uint32_t target) noexcept {
    Node& node = Nodes::at(me);
    node.gate.store(kGateShut, relaxed);  // published by the next line
    // From here on rout counts from (left - target) up to 0. acq_rel: release, gate and whead for
    // the last reader; acquire, the readers that have left, if all have.
    if (rout_.fetch_add(kDrain - target, acq_rel) != target) wait_at(node.gate);
    // Nobody else counts: all are out, none can get in. release: hands on what those readers
    // released, as an update would; pairs with has_readers and too_many_readers.
    rout_.store(target, release);
  }

  // True: the queue is empty behind this writer.
  bool leave_queue(Handle me) noexcept {
    // Hot and uncontended: one look at the node, one compare-exchange.
    Handle expected = me;
    // release: pairs with the acquire of the writer that finds the queue empty: whead is read.
    return Nodes::at(me).link.load(relaxed) == 0 && wtail_.compare_exchange(expected, 0, release);
  }
  static void hand_over(Handle me) noexcept {
    Node& node = Nodes::at(me);
    // A successor has swapped itself in and is about to link itself. acquire: pairs with its link.
    P::await(Pause::nap, node.link, acquire, [](Handle next) { return next != 0; });
    open(Nodes::at(node.link.load(relaxed)));
  }

  typename P::template atomic<std::uint32_t> rin_{};
  typename P::template atomic<std::uint32_t> rout_{};
  typename P::template atomic<Handle> rtail_[2]{};
  typename P::template atomic<Handle> wtail_{};
  typename P::template atomic<Handle> whead_{};
};

}  // namespace lockswap
