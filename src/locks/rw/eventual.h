// eventual: a running thread takes a free lock, and threads that wait get it by rationed hand-offs.
//
// Sources: common/eventual_line.h, of which this lock's writers are; phases as in B. Brandenburg,
//   J. Anderson, "Spin-based reader-writer synchronization for multiprocessor real-time systems",
//   Real-Time Systems 46 (2010).
// Idea: writers are the line's threads. Readers come in whenever no writer is in and the lock is
//   not kept for the front. A reader that waits is counted, and sleeps on `gate`; a writer's
//   release calls all of them at once. A reader that has waited for LOCKSWAP_HANDOVER_US demands a
//   phase: then the next release of a writer keeps writers out until all readers that wait are in.
// State (24 bytes, zero = free):
//   word   64 bits: readers that are in (23) | waiting readers (14) | the line: waiters (12), the
//          four flags below, the line's flags
//   calls  32 bits: the line's
//   gate   32 bits: changes when waiting readers are called
//   level  32 bits: how impatient readers have been since the front was in
//   handed_off  32 bits: when it last was handed off
// Steps of a reader that waits (eventual_gate.h):
//   1. counts itself, after a nap anew; sleeps on `gate`; called, it comes in unless a writer is in
//   2. after its time it sets kDemand
//   3. when it has waited for a reader's patience (LOCKSWAP_READER_PATIENCE_US) it comes in though
//      the lock is kept: the front may wait for a reader that waits for this one, or be stopped. A
//      reader with a real-time policy doesn't, if a writer of its priority or a higher one waits
// Steps of a writer's release, beside the line's:
//   1. with kDemand, or if the lock will be open: sets kGateCalling, then changes `gate`
//   2. frees the lock; the same update clears kGateCalling, and sets kPhase, or kGateCalled
//   3. wakes all waiting readers
//   A reader that finds `gate` changed and kGateCalling waits for the moment until step 2.
// Invariants: a writer is in, or readers. While kPhase, no writer comes in; it ends when no
//   reader waits, or when the front has waited long enough (P::take_back()). kDemand, kPhase and
//   kGateCalled are set only while readers wait. While the lock is open and readers wait, they are
//   called.
// Fairness: barging; the front is in after LOCKSWAP_HANDOVER_US and the sections under way, waiting
//   readers after as long and the writer's section under way, all of them together. Where both ask,
//   phases of readers and single writers alternate. Impatient readers delay a writer by less each
//   time: one that began to wait at level L comes in after 2^L patiences, and raises the level to
//   L + 1, so that readers which hold the lock for H leave a gap within some 8 H.
// Space: 2^22 readers at once, 16383 waiting readers, 4095 waiting writers; more that wait yield.
// Deviations: this is no published lock.
// Destroy is safe: a release's last access is one compare-exchange; wakes of addresses may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/rw/eventual_gate.h"
#include "locks/rw/eventual_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W>
class EventualRw : EventualGate<P, W> {
  using Gate = EventualGate<P, W>;
  using Line = typename Gate::Line;
  using Word = EventualRwWord;
  using Value = Word::Value;
  using Readers = EventualReaders<P>;
  using Gate::arrive_slowly, Gate::come_in, Gate::kGateChannel, Gate::sleep_at_gate;
  using Line::more_, Line::call, Line::check_word, Line::is_fronts, Line::kBusy, Line::kDoubt,
      Line::kDoubts, Line::kFront, Line::kHandOff, Line::kLocked, Line::kMostDoubts,
      Line::must_call, Line::word_;

 public:
  static constexpr Claims kClaims{.sleepers_in_order = true, .sleeping_readers_next = true};
  // Exploration has cases for that, in which its times are short.
  static constexpr bool kRationsHandOffs = true;
  static constexpr LockInfo kInfo{
      .summary = "a running thread takes a free lock; waiters get it by rationed hand-offs",
      .source = "eventual fairness as in WebKit's WTF::Lock and parking_lot",
      .fairness = "barging; the oldest writer, and all readers, after LOCKSWAP_HANDOVER_US",
      .kinds = "no effect: neither side waits for longer",
      .readers_overtake = true,
      .takes_back = true,
      .instructions = 59,
  };

  static bool prepare() noexcept { return true; }

  // --- reading; 0, or an attempt (eventual_state.h)

  [[gnu::always_inline]] std::uint32_t read_arrive() noexcept {
    return read_if_open() ? 0 : arrive_slowly();
  }
  [[gnu::always_inline]] bool read_if_open() noexcept {
    check_word();
    Value v = word_.load(relaxed);  // the compare-exchange decides
    while ((v & (kLocked | kHandOff)) == 0) {
      // acquire: pairs with the releases in write_unlock and leave, of a writer.
      if (word_.compare_exchange(v, v + Word::kReader, acquire)) [[likely]]
        return true;
    }
    return false;
  }

  bool read_wait(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    const bool is_new = EventualAttempt::periods(attempt) == 0;
    if (const std::uint64_t time = is_new ? Line::advised_nap(deadline) : 0; time != 0) {
      leave(Word::kWaitingReader);
      Line::nap(time);
      attempt = read_arrive();
      if (attempt == 0) return true;
    }
    const bool is_in = Line::look_for_a_while([this, attempt] {
      Value v = word_.load(relaxed);  // the compare-exchange in come_in decides
      return come_in(v, attempt);
    });
    return is_in || sleep_at_gate(attempt, deadline);
  }

  bool read_withdraw(std::uint32_t attempt) noexcept {
    Value v = word_.load(relaxed);  // the compare-exchange in come_in decides
    if (come_in(v, attempt)) return false;
    leave(Word::kWaitingReader);
    return true;
  }

  bool try_read_lock() noexcept {
    Value v = word_.load(relaxed);  // the compare-exchanges decide
    while ((v & kLocked) == 0) {
      const bool may = Readers::may_come_in(v), enters = may || (v & kDoubts) >= kMostDoubts;
      // A front that waits for readers is not in doubt.
      if (!may && ((v & kBusy) != 0 || !(enters || P::Doubts::counts(&word_)))) return false;
      const Value next = enters ? (may ? v : v & ~kDoubts) + Word::kReader : v + kDoubt;
      // acquire: as in read_if_open; a doubt orders nothing.
      if (word_.compare_exchange(v, next, acquire)) return enters;
    }
    return false;
  }

  [[gnu::always_inline]] void read_unlock() noexcept {
    Value v = word_.load(relaxed);  // the compare-exchange decides
    while ((v & ~Word::kReaders) == 0) {
      // release: the reader's section; pairs with the acquires of writers in the line.
      if (word_.compare_exchange(v, v - Word::kReader, release)) [[likely]]
        return;
    }
    leave(Word::kReader);
  }

  // --- writing

  void write_lock() noexcept {
    if (Line::take_open()) return;
    Line::take_slowly(nullptr);
    forget_impatience();
  }
  bool write_lock_until(const Deadline* deadline) noexcept {
    if (Line::take_open()) return true;
    const bool has_it = Line::take_slowly(deadline);
    forget_impatience();
    if (has_it) return true;
    // Readers may have waited because the lock was kept for this thread.
    if ((word_.load(relaxed) & Word::kWaitingReaders) != 0) {
      // release: pairs with sleep_at_gate, so the lock is seen as it is now.
      more_.gate.fetch_add(1, release);
      if constexpr (W::kParks) W::wake(&more_.gate, kGateChannel);
    }
    return false;
  }
  bool try_write_lock() noexcept { return Line::try_take(); }
  void write_unlock() noexcept {
    // A look first: while others sleep, an update that must fail would cost as much as a release.
    Value v = word_.load(relaxed);  // the compare-exchange decides
    // release: the critical section; pairs with the acquires of readers and of the line.
    if (v == kLocked && word_.compare_exchange(v, 0, release)) [[likely]]
      return;
    leave(kLocked);
  }

  // --- glimpses
  // acquire, all: pair with the releases of those that left.
  bool has_readers() const noexcept { return (word_.load(acquire) & Word::kReaders) != 0; }
  bool has_writer() const noexcept { return (word_.load(acquire) & kLocked) != 0; }
  // Half of the range is in use.
  bool too_many_readers() const noexcept { return (word_.load(acquire) & kManyReaders) != 0; }
  bool idle() const noexcept { return (word_.load(acquire) & ~Line::kCounts) == 0; }

  // --- in a forked child (LockCore). relaxed: the fork handed on what threads did.
  bool needs_no_repair(bool held) const noexcept {
    return (word_.load(relaxed) & ~Word::kReaders) == (held ? kLocked : 0);
  }
  // Of a lock that was held for writing nobody reads, or will.
  void repair_after_fork(bool held) noexcept {
    Value v = word_.load(relaxed);
    // Read holds may end meanwhile.
    while (!word_.compare_exchange(v, (v & Word::kReaders) | (held ? kLocked : 0), relaxed)) {}
    more_.level.store(0, relaxed);
  }

 private:
  static constexpr Value kManyReaders = Value{1} << 63;

  // Of a writer that waited, and is in or gives up. An open lock's readers wait for nobody.
  void forget_impatience() noexcept {
    // relaxed, both: it decides nothing but times.
    if (more_.level.load(relaxed) != 0) more_.level.store(0, relaxed);
  }
  // A writer, a reader, or a waiting reader leaves.
  [[gnu::noinline]] void leave(Value unit) noexcept {
    check_word();
    Value v = word_.load(relaxed);  // the compare-exchange decides
    const Value ends = unit == Word::kWaitingReader ? 0 : Line::counting_ends(v);
    bool called = false, gate_called = false;
    for (;;) {
      Value next = unit == Word::kWaitingReader ? Readers::without_waiting(v) : (v - unit) & ~ends;
      bool wakes = false;
      if (unit == kLocked && (v & Word::kWaitingReaders) != 0) {
        const bool demand = (v & Word::kDemand) != 0;
        if (demand || (v & (kHandOff | Word::kGateCalled)) == 0) {
          if (!gate_called) {
            // relaxed: the next line hands it on.
            if (!word_.compare_exchange(v, v | Word::kGateCalling, relaxed)) continue;
            // release: a reader that finds it changed finds kGateCalling; pairs with sleep_at_gate.
            more_.gate.fetch_add(1, release);
            v |= Word::kGateCalling;
            gate_called = true;
            continue;
          }
          next |= demand ? Word::kPhase : Word::kGateCalled;
          if (demand) next &= ~Word::kDemand;
        }
      }
      if (unit == kLocked)
        next &= ~Word::kGateCalling;  // a reader that gives up leaves it to its writer
      if (is_fronts(next)) {
        if (must_call(v)) {
          called |= call(v);
          continue;
        }
        wakes = true;
        next &= ~Line::kSleeps;
        if ((next & kFront) == 0) next &= ~kDoubts;  // as in the line's free
      }
      // release: the section; pairs with the acquires in the line, in read_if_open and in come_in.
      if (!word_.compare_exchange(v, next, release)) continue;
      // Of a writer's release; the lock may be gone.
      if ((next & ~v & Word::kPhase) != 0) P::begins_phase();
      // A demand may have come after the call.
      if (wakes || called) Line::wake_next(wakes ? v : v & ~Line::kSleeps, called);
      if constexpr (W::kParks) {
        if (gate_called) W::wake(&more_.gate, kGateChannel);
        if (!called) Line::give_way(v, next);
      }
      return;
    }
  }
};

}  // namespace lockswap
