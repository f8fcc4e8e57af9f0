// eventual: a running thread takes a free lock, and threads that wait get it by rationed hand-offs.
//
// Sources: common/eventual_word.h; writers wait in its queue. Phases as in B. Brandenburg, J.
//   Anderson, "Spin-based reader-writer synchronization for multiprocessor real-time systems",
//   Real-Time Systems 46 (2010).
// Idea: writers wait in eventual_queue.h. Readers enter whenever no writer holds the lock and it
//   isn't reserved for the head waiter. A reader that has to wait is counted, and sleeps on
//   `reader_wakes`. A writer's release wakes all waiting readers at once. A reader that has waited
//   for LOCKSWAP_HANDOVER_US requests a phase: then the next release of a writer keeps writers out
//   until all waiting readers hold the lock.
// State (24 bytes, zero = free):
//   word          64 bits: readers holding it (23) | waiting readers (14) | queued writers (12) |
//                 the four flags below | the flags of eventual_word.h
//   wakes         32 bits: the writers' (eventual_queue.h)
//   reader_wakes  32 bits: changes when waiting readers are woken
//   level         32 bits: how often impatient readers have bypassed the present head waiter
//   handed_off    32 bits: when the lock was handed off last
// States that readers add to those of eventual_word.h, while some of them wait:
//
//      state                 flag              who leaves it, and how
//   a  they wait             -                 a writer's release that leaves the lock free: b
//   b  they were woken       kReadersWoken     the first that rechecks: out, or back to a
//   c  a phase is requested  kPhaseRequested   a writer's release: d
//   d  in a phase            kPhase            the last of them that enters or times out; the head
//                                              waiter, after the hand-off timeout: a
//   Just before b and d (kWakesReaders), the writer has changed `reader_wakes` and is about to
//   release the lock. A reader that sees this waits for the release.
// Steps of a waiting reader (eventual_readers.h):
//   1. it counts itself, after backing off once more, and sleeps on `reader_wakes`. When it is
//      woken, it enters unless a writer holds the lock
//   2. after LOCKSWAP_HANDOVER_US it sets kPhaseRequested
//   3. when its patience (LOCKSWAP_READER_PATIENCE_US) has run out, it enters even if the lock is
//      reserved, because the head waiter may wait for a reader that waits for this one, or may be
//      preempted. A reader with a real-time policy keeps waiting if a writer of the same or a
//      higher priority waits
// Steps of a writer's release, in addition to those of eventual_queue.h:
//   1. if a phase is requested, or the lock will be free and readers wait, it sets kWakesReaders,
//      then changes `reader_wakes`
//   2. the RMW that frees the lock clears kWakesReaders, and sets kPhase or kReadersWoken
//   3. it wakes all waiting readers
// Invariants: one writer or readers hold the lock, never both. In a phase no writer enters. The
//   table's flags are set only while readers wait. If the lock is then free, they are being woken.
// Fairness: barging. The head waiter acquires within LOCKSWAP_HANDOVER_US plus the current critical
//   sections, as do all waiting readers together. If both sides make requests, phases of readers
//   and single writers alternate. Impatient readers may bypass a writer, less often each time. One
//   that began to wait at level L enters after 2^L times its patience, and sets the level to L + 1.
//   So if read holds take at most H, a moment without readers comes within about 8 H.
// Space: 2^22 readers at once, 16383 waiting readers, 4095 queued writers; further ones yield.
// Deviations: this is no published lock.
// Destroy is safe: a release's last access is one compare-exchange; wakes of addresses may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/eventual_head.h"
#include "locks/common/eventual_queue.h"
#include "locks/common/lock_info.h"
#include "locks/rw/eventual_readers.h"
#include "locks/rw/eventual_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W>
class EventualRw {
  using Head = EventualHead<P, W, EventualRwWord>;
  using Queue = EventualQueue<P, W, EventualRwWord>;
  using Readers = EventualReaders<P, W>;
  using Word = typename Readers::Word;
  using Value = typename Word::Value;

 public:
  static constexpr Claims kClaims{.sleepers_in_order = true, .sleeping_readers_next = true};
  // The model checker has test cases for this, with short timeouts.
  static constexpr bool kRationsHandOffs = true;
  static constexpr LockInfo kInfo{
      .summary =
          "a running thread may take a free lock before waiters; hand-offs bound how long they "
          "wait",
      .source = "eventual fairness as in WebKit's WTF::Lock and parking_lot",
      .fairness = "barging; the oldest writer, and all readers, after LOCKSWAP_HANDOVER_US",
      .kinds = "no effect: neither side waits for longer",
      .readers_overtake = true,
      .takes_back = true,
      .instructions = 59,
      .write_instructions = 88,
  };

  static bool prepare() noexcept { return true; }

  // --- reading; 0, or an attempt (eventual_state.h)

  [[gnu::always_inline]] std::uint32_t read_arrive() noexcept {
    return read_if_free() ? 0 : Readers::arrive_slowly(state_);
  }
  static constexpr bool kReadsIfFree = true;
  [[gnu::always_inline]] bool read_if_free() noexcept {
    state_.check();
    Value v = state_.word.load(relaxed);  // the compare-exchange decides
    while ((v & (Word::kLocked | Word::kHandOff)) == 0) {
      // acquire: pairs with the releases in write_unlock and release_writer.
      if (state_.word.compare_exchange(v, v + Word::kReader, acquire)) [[likely]]
        return true;
    }
    return false;
  }

  bool read_wait(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    const bool is_new = EventualAttempt::periods(attempt) == 0;
    if (const std::uint64_t time = is_new ? Queue::advised_backoff(state_, deadline) : 0;
        time != 0) {
      cancel_reader();
      Queue::back_off(state_, time);
      attempt = read_arrive();
      if (attempt == 0) return true;
    }
    const bool is_in = Queue::spin(state_, [this, attempt] {
      Value v = state_.word.load(relaxed);  // the compare-exchange in enter decides
      return Readers::enter(state_, v, attempt);
    });
    return is_in || Readers::wait_to_enter(state_, attempt, deadline);
  }

  bool read_withdraw(std::uint32_t attempt) noexcept {
    Value v = state_.word.load(relaxed);  // the compare-exchange in enter decides
    if (Readers::enter(state_, v, attempt)) return false;
    cancel_reader();
    return true;
  }

  bool try_read_lock() noexcept {
    Value v = state_.word.load(relaxed);  // the compare-exchanges decide
    while ((v & Word::kLocked) == 0) {
      Value next = v + Word::kReader;
      bool enters = true;
      if (!Word::can_enter(v)) {
        // The lock is reserved. If readers hold it, the head waiter is waiting for them.
        if ((v & Word::kBusy) != 0) return false;
        enters = (v & Word::kFailedTries) >= Word::kMostFailedTries;
        if (!enters && !P::FailedTries::should_count(&state_.word)) return false;
        next = enters ? (v & ~Word::kFailedTries) + Word::kReader : v + Word::kFailedTry;
      }
      // acquire: as in read_if_free; a failed trylock orders nothing.
      if (state_.word.compare_exchange(v, next, acquire)) return enters;
    }
    return false;
  }

  [[gnu::always_inline]] void read_unlock() noexcept {
    Value v = state_.word.load(relaxed);  // the compare-exchange decides
    while ((v & ~Word::kReaders) == 0) {
      // release: the reader's section; pairs with the acquires of writers in the queue.
      if (state_.word.compare_exchange(v, v - Word::kReader, release)) [[likely]]
        return;
    }
    release_reader();
  }

  // --- writing

  void write_lock() noexcept {
    if (Queue::take_free(state_)) return;
    Queue::take_slowly(state_, nullptr);
    forget_impatience();
  }
  bool write_lock_until(const Deadline* deadline) noexcept {
    if (Queue::take_free(state_)) return true;
    const bool has_it = Queue::take_slowly(state_, deadline);
    forget_impatience();
    if (has_it) return true;
    // Readers may have waited because the lock was reserved for this thread.
    if ((state_.word.load(relaxed) & Word::kWaitingReaders) != 0) {
      // release: pairs with wait_to_enter, so that readers see the lock as it is now.
      state_.more.reader_wakes.fetch_add(1, release);
      wake_readers();
    }
    return false;
  }
  bool try_write_lock() noexcept { return Queue::try_take(state_); }
  void write_unlock() noexcept {
    // Loads first, because while others sleep, a CAS that must fail would cost as much as a
    // release.
    Value v = state_.word.load(relaxed);  // the compare-exchange decides
    // release: the critical section; pairs with the acquires of readers and in the queue.
    if (v == Word::kLocked && state_.word.compare_exchange(v, 0, release)) [[likely]]
      return;
    release_writer();
  }

  // --- racy snapshots
  // All acquire: pair with the releases of threads that left.
  bool has_readers() const noexcept { return (state_.word.load(acquire) & Word::kReaders) != 0; }
  bool has_writer() const noexcept { return (state_.word.load(acquire) & Word::kLocked) != 0; }
  // Returns whether half of the range is in use.
  bool too_many_readers() const noexcept { return (state_.word.load(acquire) & kManyReaders) != 0; }
  bool idle() const noexcept { return (state_.word.load(acquire) & ~Word::kCounts) == 0; }

  // --- in a forked child (LockCore). relaxed: fork() orders what threads did.
  bool needs_no_repair(bool held) const noexcept {
    return (state_.word.load(relaxed) & ~Word::kReaders) == (held ? Word::kLocked : 0);
  }
  // A lock that was held for writing has no readers, and will get none.
  void repair_after_fork(bool held) noexcept {
    Value v = state_.word.load(relaxed);
    // Read holds may end meanwhile.
    while (!state_.word.compare_exchange(v, (v & Word::kReaders) | (held ? Word::kLocked : 0),
                                         relaxed)) {}
    state_.more.level.store(0, relaxed);
  }

 private:
  static constexpr Value kManyReaders = Value{1} << 63;

  // Called by a writer that has waited, and has acquired the lock or timed out. Resets the level,
  // since no writer is left that readers should defer to.
  void forget_impatience() noexcept {
    // Both relaxed: affects timing only.
    if (state_.more.level.load(relaxed) != 0) state_.more.level.store(0, relaxed);
  }
  void wake_readers() noexcept {
    if constexpr (W::kParks) W::wake(&state_.more.reader_wakes, Readers::kReadersChannel);
  }

  [[gnu::noinline]] void release_writer() noexcept {
    state_.check();
    Value v = state_.word.load(relaxed);  // the compare-exchanges decide
    const Value clears = Word::kLocked | Word::kWakesReaders | Queue::stops_counting(state_, v);
    Leaving leaving;
    bool wakes_readers = false;
    for (;;) {
      Value next = v & ~clears;
      if (Word::must_wake_readers(v)) {
        if (!wakes_readers) {
          wakes_readers = begin_to_wake_readers(v);
          continue;
        }
        next = Word::with_readers_woken(next);
      }
      if (!try_to_leave(v, next, leaving)) continue;
      if ((next & ~v & Word::kPhase) != 0) P::begins_phase();
      wake_after(leaving, v);
      if (wakes_readers) wake_readers();
      if (W::kParks && !leaving.designated) Queue::yield_to_woken(v, next);
      return;
    }
  }
  [[gnu::noinline]] void release_reader() noexcept {
    const Value v = state_.word.load(relaxed);  // the compare-exchanges in leave decide
    const Value clears = Queue::stops_counting(state_, v);
    leave(v, [clears](Value now) { return (now - Word::kReader) & ~clears; });
  }
  // Called by a reader that is counted as waiting, and stops waiting.
  [[gnu::noinline]] void cancel_reader() noexcept {
    leave(state_.word.load(relaxed), Word::without_waiting);  // as in release_reader
  }

  // Replaces the word, whose last known value is v, by next_of(word), and wakes those that may take
  // the lock then.
  template <class NextOf>
  void leave(Value v, const NextOf& next_of) noexcept {
    state_.check();
    Leaving leaving;
    Value next = next_of(v);
    while (!try_to_leave(v, next, leaving))
      next = next_of(v);
    wake_after(leaving, v);
    if (W::kParks && !leaving.designated) Queue::yield_to_woken(v, next);
  }

  // Called by the writer. Returns false, and the new value in v, if the word has changed.
  bool begin_to_wake_readers(Value& v) noexcept {
    // relaxed: published by the release below.
    if (!state_.word.compare_exchange(v, v | Word::kWakesReaders, relaxed)) return false;
    // release: a reader that sees the change sees kWakesReaders; pairs with wait_to_enter.
    state_.more.reader_wakes.fetch_add(1, release);
    v |= Word::kWakesReaders;
    return true;
  }

  struct Leaving {
    bool designated = false;  // a queued thread is to be woken
    bool frees = false;       // the head waiter, at least, may take the lock
  };
  // Changes the word from v to `next` for a thread that leaves, and ensures that those who may take
  // the lock then will be woken. Returns false if it must be repeated with a new v.
  bool try_to_leave(Value& v, Value next, Leaving& leaving) noexcept {
    leaving.frees = Word::head_may_take(next);
    if (leaving.frees) {
      if (Word::needs_waker(v)) {
        leaving.designated |= Head::designate_waker(state_, v);
        return false;
      }
      next = Queue::without_old_tries(next & ~Word::kSleepers);
    }
    // release: the section; pairs with the acquires in the queue, in read_if_free and in enter.
    return state_.word.compare_exchange(v, next, release);
  }
  // Called after try_to_leave, which found v. The lock may be gone.
  void wake_after(const Leaving& leaving, Value v) noexcept {
    // A request may have come after the queued thread was designated.
    if (leaving.frees || leaving.designated)
      Queue::wake_next(state_, leaving.frees ? v : v & ~Word::kSleepers, leaving.designated);
  }

  typename Readers::State state_;
};

}  // namespace lockswap
