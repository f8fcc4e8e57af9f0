// BA: the phase-fair queue lock PF-Q, as the BRAVO paper calls it.
//
// Paper: B. Brandenburg, J. Anderson, "Spin-based reader-writer synchronization for multiprocessor
//   real-time systems", Real-Time Systems 46 (2010), section 4 (PF-Q); called BA in D. Dice,
//   A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019), sections 2 and 5.
// Idea: phase-fair like PF-T, but each thread waits on a word of its own. Writers form an MCS
//   queue (ba_writers.h). A reader that meets a writer pushes itself onto a list (ba_readers.h).
//   When the writer leaves, it opens the gate of the newest reader, and each reader opens the gate
//   of the one before it. The last reader that a writer waits for opens that writer's gate.
//   A writer that finds the lock free and nobody in the queue takes it directly: it needs no node,
//   only one atomic update of the word, and another one to release.
// State (24 bytes, zero = free; node = 32-bit handle):
//   word   64 bits: ba_word.h; the arrivals of readers, the phase, PRES and kDirect
//   rout   departures of readers (31 bits), kDrain
//   rtail  the newest reader waiting in the list (ba_readers.h)
//   wtail  the newest writer, and
//   whead  the writer whose turn it is (ba_writers.h)
// States:
//
//      state     phase  who leaves it, and how
//   1  open       no    the writer at the head of the queue sets PRES: 2, or 3 without readers;
//                       or, without readers and queued writers, another writer sets kDirect: 3
//   2  draining   yes   the last reader that arrived in 1 opens the writer's gate: 3; the writer
//                       times out: 4
//   3  written    yes   the writer releases the lock: 4
//   4  leaving    yes   the same writer takes the list, if readers are in it (kLeaving), ends the
//                       phase and increments its number: 1; then it opens gates
//   Before 4, a queued writer claims its successor, which can no longer time out after that. A
//   reader that arrives in 1 holds the lock at once. One that arrives later gets it with the next
//   1, or times out before. The head of the queue sets PRES unconditionally, so arriving readers
//   can't delay it. It may then find that a direct writer was faster. In that case the direct
//   writer's release clears PRES too, and the head sets it again.
// Invariants: only the writer at the head of the queue sets PRES, and whead is its node as long as
//   PRES is set. A direct writer holds the lock from the moment it sets kDirect, and nobody sets
//   that bit during a phase. No reader that arrives in a phase holds the lock during it. rout never
//   passes the arrivals. In drain mode (kDrain, in 2) rout counts up to 0 instead.
// Fairness: phase-fair, and writers are first come, first served. That includes timed threads,
//   except that a timed writer may take over the place of one that has timed out. A writer that
//   arrives while another one is queued goes behind it. A writer that checked the queue just before
//   that one joined may overtake it, but only once, because next time it sees the queue. So a
//   writer waits for at most one phase of each other thread, as in the paper.
// Space: a queued writer uses one node while it waits and while it holds the lock, a reader while
//   it waits. For nodes of threads that timed out, see the two queues.
// Deviations, of which only the first one changes the order in which threads enter (Fairness):
//   - A writer that finds the lock free does not queue up.
//   - A writer polls rout before it asks to be woken. It takes the list only if kQueued is set.
//   - A writer that found the queue empty may have to wait on the word until the previous writer
//     has finished leaving, or until a direct one has left.
//   - A phase is a number, where the paper has one bit. A timed writer may give up its phase before
//     readers of the previous phase have noticed that they hold the lock, and with one bit their
//     own phase would then seem to go on. With numbers one list of readers is enough, where the
//     paper has one for each value of the bit, because a reader whose gate was opened for another
//     phase rechecks.
//   - A reader that times out takes its arrival back. It must not count itself out instead, because
//     a writer that drains would take it for a reader that arrived earlier.
// Fork: in a child, two kinds of readers were waiting for a writer that does not exist there: those
//   beyond the arrival count recorded in whead's node, and those that arrived in a direct writer's
//   phase. Queued writers were waiting as well. repair_after_fork() drops them all. A reader that
//   may have arrived earlier counts as a holder.
// Destroy is safe: the writer's last access is the compare-exchange that ends the phase, before
//   which it has emptied the list and claimed the next writer. A reader's last access is the
//   fetch-add on rout. The last reader of a drain also opens a gate, but its writer cannot leave
//   before that. Only wakes of its address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/concept.h"
#include "locks/rw/ba_node.h"
#include "locks/rw/ba_readers.h"
#include "locks/rw/ba_word.h"
#include "locks/rw/ba_writers.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Ba {
  using Word = BaWord;
  using Node = BaNode<P>;
  using Nodes = typename P::template nodes<Node>;
  using Handle = std::uint32_t;
  using Gates = BaGates<P, W>;
  using Readers = BaReaderList<P, W>;
  using Writers = BaWriterQueue<P, W>;

 public:
  static constexpr Claims kClaims{.phase_fair = true, .fcfs_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "phase-fair queue lock with local spinning",
      .source = "Brandenburg and Anderson 2010, section 4, PF-Q",
      .fairness = "phase-fair, writers first come first served",
      .kinds = kKindsAlternate,
      .aliases = {"PF-Q", "PFQ"},
      .instructions = 46,
      .write_instructions = 91,
  };

  static bool prepare() noexcept { return Nodes::prepare(); }

  static constexpr std::uint32_t kNoAttempt = 4;  // an attempt contains PRES
  static_assert((kNoAttempt & Word::kPresent) == 0);

  // Counts the reader in. Returns 0 if it holds the lock, or the phase of the writer that it met.
  static constexpr bool kReadArrivesByOneUpdate = true;
  [[gnu::always_inline]] std::uint32_t read_arrive() noexcept {
    // acquire: pairs with the release in end_phase.
    const std::uint64_t seen = word_.fetch_add(Word::kReader, acquire);
    return Word::is_free(seen) ? 0 : Word::phase_of(seen);
  }

  bool read_wait(std::uint32_t phase, const Deadline* deadline) noexcept {
    return readers_.wait_for_end(word_, phase, deadline);
  }

  // For a reader that has room for only the lowest bits of its phase's number (per-cpu.h).
  // phase_number returns the number, of kPhaseBits bits. whole_phase returns the present phase if
  // its lowest bits are these, and otherwise 0, because the reader's phase is over. With b bits,
  // that goes wrong if exactly 2^b phases, or a multiple, timed out between two calls of that
  // reader.
  static constexpr int kPhaseBits = 27;
  static_assert(Word::kPhaseNumber / Word::kOnePhase == (1u << kPhaseBits) - 1);
  static std::uint32_t phase_number(std::uint32_t phase) noexcept {
    return static_cast<std::uint32_t>(phase / Word::kOnePhase);
  }
  std::uint32_t whole_phase(std::uint32_t lowest, std::uint32_t mask) noexcept {
    const std::uint64_t v = word_.load(acquire);  // as in read_withdraw
    const std::uint32_t phase = Word::phase_of(v);
    return Word::is_free(v) || ((phase_number(phase) ^ lowest) & mask) != 0 ? 0 : phase;
  }

  // Takes the arrival back while the writer that the reader met is still there, so no later writer
  // can have counted it. Returns false if that writer has left, in which case the reader holds the
  // lock.
  bool read_withdraw(std::uint32_t phase) noexcept {
    for (;;) {
      // acquire: if the phase is over, the reader holds the lock; pairs with end_phase.
      std::uint64_t v = word_.load(acquire);
      if (Word::is_over(v, phase)) return false;
      // relaxed: nothing was read or written under the lock.
      if (word_.compare_exchange(v, v - Word::kReader, relaxed)) return true;
    }
  }

  bool try_read_lock() noexcept {
    std::uint64_t v = word_.load(relaxed);  // the compare-exchange decides
    while (Word::is_free(v)) {
      // acquire: pairs with the release in end_phase.
      if (word_.compare_exchange(v, v + Word::kReader, acquire)) return true;
    }
    return false;
  }

  [[gnu::always_inline]] void read_unlock() noexcept {
    P::check([this] { return counts_me(); });
    // release: the reader's critical section; pairs with the acquires of rout. acquire: the last
    // reader publishes at the writer's gate what all earlier readers released here.
    const std::uint32_t left = rout_.fetch_add(kLeft, acq_rel) + kLeft;
    if (left == kDrain) [[unlikely]] {
      // relaxed: whead was written before drain mode began, which was just acquired.
      Gates::open(Nodes::at(writers_.head()), 0);
    }
  }

  // Takes the lock directly, if it is free and no writer is queued.
  [[gnu::always_inline]] bool fast_write_lock() noexcept {
    std::uint64_t v = word_.load(relaxed);  // the compare-exchange decides
    // Each round checks the phase, the queue and rout; the compare-exchange fails if readers have
    // come since.
    while (Word::is_free(v) && writers_.nobody() && all_left(v)) {
      // acquire: synchronises with earlier writers (end_phase). all_left has already synchronised
      // with earlier readers.
      if (word_.compare_exchange(v, v | Word::kDirect, acquire)) return true;
    }
    return false;
  }
  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    if (!fast_write_lock()) own(writers_.queue_up(), nullptr, listener);
  }

  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    if (fast_write_lock()) return true;
    if (P::passed(*deadline)) return false;  // it would open a phase for nothing
    const Handle me = writers_.queue_up_until(word_, deadline);
    return me != 0 && own(me, deadline, listener);
  }

  bool try_write_lock() noexcept { return fast_write_lock(); }

  [[gnu::always_inline]] bool fast_write_unlock() noexcept {
    P::check([this] { return is_sound(); });
    // relaxed: kDirect, if set, was set by the owner's lock(), which happened before.
    std::uint64_t v = word_.load(relaxed);
    // release: as in end_phase.
    return (v & (Word::kDirect | Word::kOfWaiting)) == Word::kDirect &&
           word_.compare_exchange(v, Word::after_phase(v), release);
  }
  void write_unlock() noexcept {
    if (!fast_write_unlock()) slow_write_unlock();
  }

  // --- racy snapshots, which may be stale at once
  // Never false while a read hold lasts: rout is loaded first (acquire: pairs with read_unlock, so
  // every departure's arrival is seen), and the arrivals loaded later exceed it by that hold.
  bool has_readers() const noexcept {
    const std::uint32_t left = rout_.load(acquire);
    return left != target_of(word_.load(relaxed));
  }
  bool has_writer() const noexcept {
    return !Word::is_free(word_.load(acquire));  // acquire: pairs with end_phase
  }
  bool idle() const noexcept {
    const std::uint64_t v = word_.load(relaxed);  // for tests, when all threads have ended
    return Word::is_free(v) && all_left(v) && writers_.nobody() && readers_.nobody();
  }
  bool too_many_readers() const noexcept {
    // acquire: pairs with read_unlock, so not more are seen to have left than to have arrived.
    const std::uint32_t left = rout_.load(acquire);
    if ((left & kDrain) != 0) return false;  // rout counts something else for a moment
    return (target_of(word_.load(relaxed)) - left) >> 31 != 0;
  }

  // --- in a forked child (LockCore). All relaxed: fork() makes earlier writes visible, and the
  // contract's release store publishes the repair.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint64_t v = word_.load(relaxed);
    if (!readers_.nobody()) return false;
    if (Word::is_free(v) || !written) return Word::is_free(v) && !written && writers_.nobody();
    const bool is_alone =
        Word::is_direct(v) ? Word::is_absent(v) && writers_.nobody() : writers_.is_head_alone();
    return is_alone && (v & Word::kOfWaiting) == 0 && all_left(v);
  }
  // The nodes of waiters are leaked.
  void repair_after_fork(bool written) noexcept {
    const std::uint64_t v = word_.load(relaxed);
    const bool is_direct = Word::is_direct(v);
    const std::uint64_t readers = is_direct ? all_that_left() : arrived_before_phase(v);
    if ((rout_.load(relaxed) & kDrain) != 0) rout_.fetch_add(target_of(readers) - kDrain, relaxed);
    readers_.drop_all();
    const std::uint64_t owner = is_direct ? Word::kDirect : Word::kPresent;
    word_.store(readers | (v & (Word::kPhaseNumber | (written ? owner : 0))), relaxed);
    writers_.drop_all(written && !is_direct);
  }

 private:
  static constexpr std::uint32_t kDrain = 1;  // in rout: it counts up to 0
  static constexpr std::uint32_t kLeft = 2;   // in rout: a reader has left

  // The value of rout once all readers that have arrived have left.
  static std::uint32_t target_of(std::uint64_t v) noexcept { return Word::arrived(v) * kLeft; }
  bool all_left(std::uint64_t v) const noexcept {
    return rout_.load(acquire) == target_of(v);  // acquire: pairs with read_unlock
  }

  // --- in a forked child. Both return the arrival count in the word's encoding.
  // In a direct writer's phase: the readers that had arrived before it, all of which have left.
  std::uint64_t all_that_left() const noexcept {
    return std::uint64_t{rout_.load(relaxed) / kLeft} * Word::kReader;
  }
  std::uint64_t arrived_before_phase(std::uint64_t v) const noexcept {
    const Handle head = writers_.head();
    // An unrelated process's lock may look like an ancestor's: the handle may name no node here.
    const std::uint64_t arrivals_at_phase = Word::is_free(v) || !Nodes::is_handle(head)
                                                ? 0
                                                : Nodes::at(head).arrivals_at_phase.load(relaxed);
    return (arrivals_at_phase & Node::kRecorded) == 0 ? v & Word::kArrived
                                                      : arrivals_at_phase & Word::kArrived;
  }

  // --- for P::check
  // For a reader that holds the lock: fewer readers have left than have arrived or, in drain mode,
  // than the writer waits for.
  bool counts_me() const noexcept {
    const std::uint32_t left = rout_.load(relaxed);
    const std::uint32_t all = (left & kDrain) != 0 ? kDrain : target_of(word_.load(relaxed));
    return static_cast<std::int32_t>(all - left) >= static_cast<std::int32_t>(kLeft);
  }
  // While both bits are set, some writer is at the head of the queue.
  bool is_sound() const noexcept {
    const std::uint64_t v = word_.load(relaxed);
    return !Word::is_direct(v) || Word::is_absent(v) || !writers_.nobody();
  }
  // Returns whether that writer is at the head of the queue, and is present or not.
  bool is_at_head(Handle me, bool present) const noexcept {
    return writers_.is_at_head(me) && Word::is_absent(word_.load(relaxed)) != present;
  }

  // --- writing

  // Called by the writer at the head of the queue, which alone may set PRES. Returns false if the
  // deadline has passed, and then the writer has left the queue.
  template <DrainListener L>
  bool own(Handle me, const Deadline* deadline, const L& listener) noexcept {
    // The previous writer may have left the queue but not yet cleared PRES.
    if (!await_absence(deadline)) {
      leave_queue(me);
      return false;
    }
    std::uint64_t seen = enter_phase(me);
    while (Word::is_direct(seen)) {
      if (!await_absence(deadline)) {
        // Clear our own PRES, unless the direct writer's release already has: whead must not name a
        // node that isn't in the queue. relaxed: the queue publishes it to the next head.
        word_.fetch_and(~Word::kPresent, relaxed);
        leave_queue(me);
        return false;
      }
      seen = enter_phase(me);
    }
    record_arrivals(me, seen);
    const std::uint32_t target = target_of(seen);
    // acquire: pairs with read_unlock.
    if (rout_.load(acquire) == target) [[likely]]
      return true;
    listener.begin();
    if (wait_to_drain(me, target, deadline)) return true;
    listener.gave_up();
    slow_write_unlock();
    return false;
  }

  // Waits until PRES is clear. Returns false if the deadline has passed first.
  bool await_absence(const Deadline* deadline) noexcept {
    // Both relaxed: enter_phase acquires.
    if (Word::is_absent(word_.load(relaxed))) [[likely]]
      return true;
    return W::until(word_, relaxed, Word::kSleepers, Word::kChannel, deadline, Word::is_absent);
  }

  // Called by the writer at the head if it has no phase.
  [[gnu::noinline]] void leave_queue(Handle me) noexcept {
    Writers::pass_turn(me, writers_.claim_next(me));
  }

  static void record_arrivals(Handle me, std::uint64_t v) noexcept {
    // relaxed: only read after fork(), which orders everything.
    Nodes::at(me).arrivals_at_phase.store((v & Word::kArrived) | Node::kRecorded, relaxed);
  }

  // Returns the word's previous value. If that was in a direct writer's phase, this writer has no
  // phase yet.
  std::uint64_t enter_phase(Handle me) noexcept {
    writers_.stand_at_head(me);
    P::check([this, me] { return is_at_head(me, false); });
    // acquire: synchronises with earlier direct writers (end_phase). The queue has done so with
    // earlier queued writers, earlier readers are waited for at rout, and later ones need no order.
    return word_.fetch_add(Word::kPresent, acquire);
  }

  // Returns false if the deadline has passed while readers still hold the lock.
  [[gnu::noinline]] bool wait_to_drain(Handle me, std::uint32_t target,
                                       const Deadline* deadline) noexcept {
    Node& node = Nodes::at(me);
    node.gate.store(Gates::kShut, relaxed);  // published by the next line
    // From here on rout counts from (left - target) up to 0. acq_rel: release publishes gate and
    // whead to the last reader; acquire synchronises with the readers if all have left.
    if (rout_.fetch_add(kDrain - target, acq_rel) != target && !Gates::wait_at(node, deadline)) {
      // relaxed: if all have left, acquiring the gate synchronises with them.
      if (rout_.fetch_add(target - kDrain, relaxed) != kDrain) return false;
      // The last reader has left meanwhile, and is about to open the gate.
      Gates::wait_at(node, nullptr);
      return true;
    }
    // Nobody else counts: all have left, none can enter. release: unlike an RMW, a store ends the
    // readers' release sequence, so it republishes; pairs with has_readers and too_many_readers.
    rout_.store(target, release);
    return true;
  }

  [[gnu::noinline]] void slow_write_unlock() noexcept {
    // relaxed: as in write_unlock.
    if (Word::is_direct(word_.load(relaxed))) return end_phase();
    const Handle me = writers_.head();  // the owner's own; its lock() happened before
    P::check([this, me] { return is_at_head(me, true); });
    const Handle next = writers_.claim_next(me);
    end_phase();
    Writers::pass_turn(me, next);
  }

  // Called by the writer that holds the lock, or has its turn. Ends its phase, which lets the
  // waiting readers in. Its last access to the lock is the compare-exchange.
  void end_phase() noexcept {
    std::uint64_t v = word_.load(relaxed);
    const std::uint64_t phase = Word::phase_of(v);
    Handle newest = 0;
    for (;;) {
      if ((v & (Word::kQueued | Word::kLeaving)) == Word::kQueued) {
        // relaxed: take_all() is acq_rel, so a reader that pushes itself after it sees kLeaving.
        v = word_.fetch_or(Word::kLeaving, relaxed) | Word::kLeaving;
        newest = readers_.take_all();
      }
      // release: the critical section; pairs with the acquires of readers here and in
      // ba_readers.h, of direct writers, of enter_phase and of has_writer.
      if (word_.compare_exchange(v, Word::after_phase(v), release)) break;
    }
    P::check([v, phase] { return !Word::is_over(v, static_cast<std::uint32_t>(phase)); });
    if constexpr (W::kParks) {
      if ((v & Word::kSleepers) != 0) W::wake(&word_, Word::kChannel);
    }
    Readers::open_list(newest, phase << Gates::kEndedShift);
  }

  typename P::template atomic<std::uint64_t> word_{};
  typename P::template atomic<std::uint32_t> rout_{};
  Readers readers_;
  Writers writers_;
};

}  // namespace lockswap
