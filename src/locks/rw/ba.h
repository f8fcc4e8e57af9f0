// BA: the phase-fair queue lock PF-Q, as the BRAVO paper calls it.
//
// Paper: B. Brandenburg, J. Anderson, "Spin-based reader-writer synchronization for multiprocessor
//   real-time systems", Real-Time Systems 46 (2010), section 4 (PF-Q); called BA in D. Dice,
//   A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019), sections 2 and 5.
// Idea: phase-fair like PF-T, but every thread waits on a word of its own. Writers form an MCS
//   queue (ba_writers.h). A reader that meets a writer pushes itself on a list (ba_readers.h); the
//   writer opens the newest one's gate when it leaves, and each reader opens the gate of the one
//   before it. The last reader that a writer waits for opens the writer's gate.
// State, invariants: ba_state.h.
// Fairness: phase-fair; writers are served first come, first served. This holds for timed readers
//   and writers too; but a timed writer may have the place of one that has given up.
// Space: a writer holds one node while it waits and while it owns; a reader while it waits. Nodes
//   of threads that gave up: see the two queues.
// Deviations: a writer looks at rout before it asks to be woken, and a writer that no reader met
//   leaves the list alone. A writer that found the queue empty may have to wait on the word for the
//   writer before it to finish leaving. The paper's phase is one bit, and it has a list for each of
//   the two; ours has a number, which a reader that met a writer remembers. It has to: a timed
//   writer may give up a phase before the readers of the phase before have noticed that they are
//   in, and one bit would have the same value again too early. With the number one list is enough,
//   since a reader that was opened for another phase looks again. A reader that gives up takes its
//   arrival back; it never counts itself out, since a writer may be draining. Nothing of this
//   changes the order in which threads enter.
// Fork: repair_after_fork() in ba_state.h.
// Destroy is safe: the writer's last access is the compare-exchange that takes PRES away; before
//   it, the list is empty and the next writer is claimed. A reader's last access is the fetch-add
//   on rout, but for the last reader of a drain, whose writer cannot leave before its gate is
//   opened or it has found that gate about to be. Wakes of an address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/concept.h"
#include "locks/rw/ba_writers.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Ba : public BaWriters<P, W> {
  using Base = BaWriters<P, W>;
  using Base::all_left, Base::claim_next, Base::counts_me, Base::end_phase, Base::is_at_head,
      Base::is_free, Base::is_over, Base::kAnyChannel, Base::kArrived, Base::kDrain, Base::kLeft,
      Base::kOnePhase, Base::kPhase, Base::kPresent, Base::kReader, Base::kRecorded, Base::kShut,
      Base::kSleepers, Base::open, Base::pass_turn, Base::queue_up, Base::queue_up_until,
      Base::rout_, Base::target_of, Base::try_queue_up, Base::wait_at, Base::wait_for_end,
      Base::whead_, Base::word_;
  using typename Base::Handle, typename Base::Node, typename Base::Nodes;

 public:
  static constexpr Claims kClaims{.phase_fair = true, .fifo_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "phase-fair queue lock with local spinning",
      .source = "Brandenburg and Anderson 2010, section 4, PF-Q",
      .fairness = "phase-fair, writers first come first served",
      .kinds = kKindsAlternate,
      .aliases = {"PF-Q", "PFQ"},
      .instructions = 46,
  };

  static bool prepare() noexcept { return Nodes::prepare(); }

  static constexpr std::uint32_t kNoAttempt = 4;  // an attempt has PRES
  static_assert((kNoAttempt & kPresent) == 0);

  // Counts the reader in. 0: it holds the lock. Otherwise the phase of the writer that it met.
  std::uint32_t read_arrive() noexcept {
    // acquire: pairs with the release in end_phase.
    const std::uint64_t seen = word_.fetch_add(kReader, acquire);
    return is_free(seen) ? 0 : static_cast<std::uint32_t>(seen & kPhase);
  }

  bool read_wait(std::uint32_t phase, const Deadline* deadline) noexcept {
    return wait_for_end(phase, deadline);
  }

  // A phase's number, of kPhaseBits bits, for a reader that remembers only its lowest ones
  // (per-cpu.h); and the phase of which they are the lowest ones, 0: it is over. With b bits, it is
  // taken for another one if just 2^b phases, or a multiple, were given up between two calls of
  // that reader.
  static constexpr int kPhaseBits = 28;
  static_assert(Base::kPhaseNumber / kOnePhase == (1u << kPhaseBits) - 1);
  static std::uint32_t phase_number(std::uint32_t phase) noexcept {
    return static_cast<std::uint32_t>(phase / kOnePhase);
  }
  std::uint32_t whole_phase(std::uint32_t lowest, std::uint32_t mask) noexcept {
    const std::uint64_t v = word_.load(acquire);  // as in read_withdraw
    const auto phase = static_cast<std::uint32_t>(v & kPhase);
    return is_free(v) || ((phase_number(phase) ^ lowest) & mask) != 0 ? 0 : phase;
  }

  // Takes the arrival back while the writer that was met is still there: no later writer can have
  // counted it. False: that writer has left, so the reader holds the lock.
  bool read_withdraw(std::uint32_t phase) noexcept {
    for (;;) {
      // acquire: if the phase is over, the reader is in; pairs with end_phase.
      std::uint64_t v = word_.load(acquire);
      if (is_over(v, phase)) return false;
      // relaxed: nothing was read or written under the lock.
      if (word_.compare_exchange(v, v - kReader, relaxed)) return true;
    }
  }

  bool try_read_lock() noexcept { return read_if_open(); }
  [[gnu::always_inline]] bool read_if_open() noexcept {
    std::uint64_t v = word_.load(relaxed);  // the compare-exchange decides
    while (is_free(v)) {
      // acquire: pairs with the release in end_phase.
      if (word_.compare_exchange(v, v + kReader, acquire)) return true;
    }
    return false;
  }

  [[gnu::always_inline]] void read_unlock() noexcept {
    P::check([this] { return counts_me(); });
    // release: the reader's critical section; pairs with the acquires in drain. acquire: the last
    // reader passes on to the writer's gate what all readers before it released here.
    const std::uint32_t left = rout_.fetch_add(kLeft, acq_rel) + kLeft;
    if (left == kDrain) [[unlikely]] {
      // relaxed: whead was written before the drain mode that was just acquired.
      open(Nodes::at(whead_.load(relaxed)), 0);
    }
  }

  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    own(queue_up(), nullptr, listener);
  }

  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    if (try_write_lock()) return true;
    if (P::passed(*deadline)) return false;  // it would open a phase for nothing
    const Handle me = queue_up_until(deadline);
    return me != 0 && own(me, deadline, listener);
  }

  bool try_write_lock() noexcept {
    // relaxed, all loads of the word here: the writers before come with the queue, the readers with
    // rout.
    std::uint64_t v = word_.load(relaxed);
    if (!is_free(v) || !all_left(v)) return false;
    const Handle me = try_queue_up();
    if (me == 0) return false;
    v = word_.load(relaxed);
    // A glance at PRES and rout each round; the compare-exchange finds out readers that came since.
    while (is_free(v) && all_left(v)) {
      stand_at_head(me);
      // relaxed: the readers before were acquired in all_left, the writers with the queue.
      if (word_.compare_exchange(v, v | kPresent, relaxed)) {
        record_arrivals(me, v);
        return true;
      }
    }
    pass_turn(me, claim_next(me));
    return false;
  }

  void write_unlock() noexcept {
    const Handle me = whead_.load(relaxed);  // the owner's own; its lock() happened before
    P::check([this, me] { return is_at_head(me, true); });
    const Handle next = claim_next(me);
    end_phase();
    pass_turn(me, next);
  }

 private:
  // The writer is at the head of the queue; only it may set PRES. False: the deadline has passed,
  // and it has left.
  template <DrainListener L>
  bool own(Handle me, const Deadline* deadline, const L& listener) noexcept {
    // The writer before may have left the queue but not yet the word. relaxed: what it did under
    // the lock came with the queue.
    if (!is_free(word_.load(relaxed))) [[unlikely]] {
      if (!W::until(word_, relaxed, kSleepers, kAnyChannel, deadline, is_free)) {
        pass_turn(me, claim_next(me));
        return false;
      }
    }
    stand_at_head(me);
    const std::uint32_t target = enter_phase(me);
    // acquire: pairs with read_unlock.
    if (rout_.load(acquire) == target) [[likely]]
      return true;
    listener.begin();
    if (wait_to_drain(me, target, deadline)) return true;
    listener.gave_up();
    write_unlock();
    return false;
  }

  // Only while PRES is clear: forked children believe whead, and what its node says, while it is
  // set.
  void stand_at_head(Handle me) noexcept {
    Nodes::at(me).arrivals_at_phase.store(0, relaxed);  // as in record_arrivals
    // relaxed: read by readers after drain mode (release), and by this writer's unlock.
    whead_.store(me, relaxed);
  }
  static void record_arrivals(Handle me, std::uint64_t v) noexcept {
    // relaxed: read after a fork only, which hands everything on.
    Nodes::at(me).arrivals_at_phase.store((v & kArrived) | kRecorded, relaxed);
  }

  // Returns what rout will be when the readers that had arrived have left.
  std::uint32_t enter_phase(Handle me) noexcept {
    P::check([this, me] { return is_at_head(me, false); });
    // relaxed: the readers before are awaited at rout, the readers after it need no data, and what
    // the writers before did came with the queue.
    const std::uint64_t seen = word_.fetch_add(kPresent, relaxed);
    record_arrivals(me, seen);
    return target_of(seen);
  }

  // False: the deadline has passed, and readers are still in.
  [[gnu::noinline]] bool wait_to_drain(Handle me, std::uint32_t target,
                                       const Deadline* deadline) noexcept {
    Node& node = Nodes::at(me);
    node.gate.store(kShut, relaxed);  // published by the next line
    // From here on rout counts from (left - target) up to 0. acq_rel: release, gate and whead for
    // the last reader; acquire, the readers that have left, if all have.
    if (rout_.fetch_add(kDrain - target, acq_rel) != target && !wait_at(node, deadline)) {
      // relaxed: if all have left, the gate hands them on.
      if (rout_.fetch_add(target - kDrain, relaxed) != kDrain) return false;
      // The last reader has left meanwhile, and is about to open the gate.
      wait_at(node, nullptr);
      return true;
    }
    // Nobody else counts: all are out, none can get in. release: hands on what those readers
    // released, as an update would; pairs with has_readers and too_many_readers.
    rout_.store(target, release);
    return true;
  }
};

}  // namespace lockswap
