// BA: the phase-fair queue lock PF-Q, as the BRAVO paper calls it.
//
// Paper: B. Brandenburg, J. Anderson, "Spin-based reader-writer synchronization for multiprocessor
//   real-time systems", Real-Time Systems 46 (2010), section 4 (PF-Q); called BA in D. Dice,
//   A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019), sections 2 and 5.
// Idea: phase-fair like PF-T, but every thread waits on a word of its own. Writers form an MCS
//   queue. A reader that meets a writer pushes itself on a list for that phase; the writer opens
//   the newest one's gate when it leaves, and each reader opens the gate of the one before it. The
//   last reader that a writer waits for opens the writer's gate.
// State, invariants: ba_state.h.
// Fairness: phase-fair; writers are served first come, first served. A timed reader counts as
//   arrived at once and is admitted with its phase. A timed writer tries again and again: it enters
//   only when nobody holds the lock, has no place in the queue, and an unbroken stream of readers
//   starves it. It cannot open a phase that it may give up: readers of the phase before may not
//   have noticed yet that they are in, and the lists and the phase bit would have their turn again
//   too early.
// Space: a writer holds one node while it waits and while it owns; a reader while it waits.
// Deviations: a writer looks at rout before it asks to be woken, and a writer that no reader met
//   leaves rtail alone: the next writer of that phase overwrites it. A writer that found the queue
//   empty may have to wait on rin for the writer before it to finish leaving. Timed readers wait on
//   rin, because a reader cannot leave the list. Nothing of this changes the order in which threads
//   enter.
// Fork: repair_after_fork() in ba_state.h.
// Destroy is safe: without a successor and without queued readers the writer's last access is the
//   subtraction from rin; with either, somebody is still inside lock() until the last access. A
//   reader's last access is the fetch-add on rout, but for the last reader of a drain, whose writer
//   cannot leave before its gate is opened. Wakes of an address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/concept.h"
#include "locks/rw/ba_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Ba : public BaState<P, W> {
  using Base = BaState<P, W>;
  using Base::all_left, Base::kAnyChannel, Base::kClosed, Base::kCount, Base::kDrain,
      Base::kGateShut, Base::kOpen, Base::kPhase, Base::kPhaseId, Base::kPhaseIdShift,
      Base::kPresent, Base::kQueued, Base::kReader, Base::kRecorded, Base::kSleepers,
      Base::new_node, Base::open, Base::rin_, Base::rout_, Base::rtail_, Base::wait_at,
      Base::whead_, Base::wtail_;
  using typename Base::Atom, typename Base::Handle, typename Base::Node, typename Base::Nodes;

 public:
  static constexpr Claims kClaims{.phase_fair = true, .fifo_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "phase-fair queue lock with local spinning",
      .source = "Brandenburg and Anderson 2010, section 4, PF-Q",
      .fairness =
          "phase-fair, writers first come first served; timed writers only when nobody is in",
      .kinds = kKindsAlternate,
      .aliases = {"PF-Q", "PFQ"},
      .instructions = 45,
  };

  static bool prepare() noexcept { return Nodes::prepare(); }

  // What read_arrive returns has no other bits than these.
  static constexpr std::uint32_t kPhaseBits = kPhase;

  // Counts the reader in. 0: it holds the lock. Otherwise the phase of the writer that it met.
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
    return W::until(rin_, acquire, kSleepers, kAnyChannel, deadline, over);
  }

  // Takes the arrival back while the writer that was met is still there: no later writer can have
  // counted it. False: that writer has left, so the reader holds the lock.
  bool read_withdraw(std::uint32_t phase) noexcept {
    for (;;) {
      // acquire: if the phase is over, the reader is in; pairs with write_unlock.
      std::uint32_t v = rin_.load(acquire);
      if ((v & kPhase) != phase) return false;
      // relaxed: nothing was read or written under the lock.
      if (rin_.compare_exchange(v, v - kReader, relaxed)) return true;
    }
  }

  bool try_read_lock() noexcept {
    std::uint32_t v = rin_.load(relaxed);
    while ((v & kPresent) == 0) {
      // acquire: pairs with the release in write_unlock.
      if (rin_.compare_exchange(v, v + kReader, acquire)) return true;
    }
    return false;
  }

  [[gnu::always_inline]] void read_unlock() noexcept {
    // release: the reader's critical section; pairs with the acquires in drain. acquire: the last
    // reader passes on to the writer's gate what all readers before it released here.
    const std::uint32_t left = rout_.fetch_add(kReader, acq_rel) + kReader;
    if (left == kDrain) [[unlikely]] {
      // relaxed: whead was written before the drain mode that was just acquired.
      open(Nodes::at(whead_.load(relaxed)));
    }
  }

  void write_lock() noexcept { write_lock(NobodyListens{}); }
  template <DrainListener L>
  void write_lock(const L& listener) noexcept {
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
    own(me, listener);
  }

  bool write_lock_until(const Deadline* deadline) noexcept {
    return write_lock_until(deadline, NobodyListens{});
  }
  template <DrainListener L>
  bool write_lock_until(const Deadline* deadline, const L&) noexcept {
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
    // acq_rel: release, the node is ready before others find it; acquire, pairs with leave_queue of
    // the writer that left the queue empty.
    if (!wtail_.compare_exchange(none, me, acq_rel)) {
      Nodes::give(me);
      return false;
    }
    stand_at_head(me);
    v = rin_.load(relaxed);
    // A glance at PRES and rout each round; the compare-exchange finds out readers that came since.
    while ((v & kPresent) == 0 && all_left(v)) {
      close_list(v);
      // release: rtail is closed before a reader sees PRES; pairs with read_arrive.
      if (rin_.compare_exchange(v, with_next_phase(v), release)) {
        record_arrivals(me, v);
        return true;
      }
      v = rin_.load(relaxed);
    }
    if (!leave_queue(me)) hand_off(me);
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
    if (!alone) hand_off(me);
    Nodes::give(me);
  }

 private:
  // --- readers

  // True: the writer of that phase will come to rtail. False: it has left, the reader is in.
  bool announce_queued(std::uint32_t phase) noexcept {
    // acquire: if the phase is over, the reader is in; pairs with write_unlock.
    std::uint32_t v = rin_.load(acquire);
    while ((v & kPhase) == phase) {
      // relaxed: seen by the writer's subtraction from rin, which needs no data with it.
      if ((v & kQueued) != 0 || rin_.compare_exchange(v, v | kQueued, relaxed)) return true;
      v = rin_.load(acquire);
    }
    return false;
  }

  void wait_in_list(Atom& tail) noexcept {
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
  template <DrainListener L>
  void own(Handle me, const L& listener) noexcept {
    stand_at_head(me);
    const auto is_free = [](std::uint32_t v) { return (v & kPresent) == 0; };
    // The writer before may have left the queue but not yet rin. relaxed: what it did under the
    // lock came with the queue, from leave_queue or from open.
    if (!is_free(rin_.load(relaxed))) [[unlikely]] {
      W::until(rin_, relaxed, kSleepers, kAnyChannel, nullptr, is_free);
    }
    drain(me, enter_phase(me), listener);
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

  template <DrainListener L>
  void drain(Handle me, std::uint32_t target, const L& listener) noexcept {
    // acquire: pairs with read_unlock.
    if (rout_.load(acquire) == target) [[likely]]
      return;
    listener.begin();
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
  static void hand_off(Handle me) noexcept {
    Node& node = Nodes::at(me);
    // A successor has swapped itself in and is about to link itself. acquire: pairs with its link.
    P::await(Pause::nap, node.link, acquire, [](Handle next) { return next != 0; });
    open(Nodes::at(node.link.load(relaxed)));
  }
};

}  // namespace lockswap
