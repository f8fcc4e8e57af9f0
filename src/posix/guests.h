// Guests: readers that are let in past a writer that waits for other readers, because they have
// waited longer than the readers' patience (LOCKSWAP_READER_PATIENCE_US).
//
// Why: in a fair lock a reader waits behind a writer, which waits for the readers that hold the
//   lock. If one of those waits for that new reader, for example at a condition variable, a barrier
//   or another lock, all three wait for ever. Under glibc's default lock they don't, because a
//   reader gets in there whenever no writer holds the lock.
// Idea: a read hold that is counted in the contract word keeps a writer out of any lock below,
//   since the writer checks that word before it returns. So a guest's hold is an extra hold
//   (extra_holds.h), and this file only decides when one may be added: while kDraining is set, that
//   is while a writer has its turn but not the lock. One word decides between reader and writer.
// Steps of a writer:
//   1. it has its turn in the lock below and must wait for readers: it sets kDraining (begin)
//   2. it has the lock below: it waits until n is 0, and clears kDraining with the compare-exchange
//      that checks n (RwWriter::shut)
//   2a. or it gives up: it clears kDraining, and only then gives its turn back (gave_up). Guests
//       stay counted, and the next writer waits for them
// Steps of a waiting reader:
//   1. when its patience is over, it checks kDraining. If that is clear, a writer has the lock or
//      is about to, and the reader keeps its place in the lock below and waits as long again
//      If the last check found the same writer, that writer holds the lock for a long time, and
//      patience does not help. Then each sleep is eight times as long as the last one, up to ten
//      seconds, until a check finds another writer or none. Otherwise many readers behind one long
//      write hold would use up a processor. A reader that wakes up because that writer has left,
//      and must wait for the next one, has its usual patience again (as_at_first in clock.h). If a
//      reader stays asleep because it lost a race with the writer's release, those that wait for it
//      are delayed by at most eight times the time that it has already waited
//   2. if kDraining is set, it adds an extra hold, and has the lock
//   3. only then does it withdraw from the lock below. If it is too late for that, it has the lock
//      twice, and ends the extra hold
// Fairness: that of the lock below, until a reader's patience has run out. Patience grows, so that
//   a stream of long-held read locks can't starve a writer. A reader that begins to wait at level L
//   waits 1.5^L times the patience p. A guest raises the level to L + 1, and the writer that gets
//   in resets it to 0. All readers that begin to wait at one level get in after the same time,
//   however many they are. So guests of level L get in within a time of p * 1.5^L, and the first
//   guest of level L + 1 gets in p * 1.5^(L+1) after the first of level L. If each holds the lock
//   for at most H, there is a moment without a guest as soon as p * 1.5^L > 2 H, and the writer
//   gets in within 13 H + 5 p. A chain of k readers, each waiting for the next, makes progress
//   after at most 2 p * 1.5^k. A reader that began to wait before an earlier writer got in counts
//   as one of level 0. Otherwise each writer's level would begin where the last one's ended, and
//   readers that meet at a barrier again and again, while they hold the lock, would wait for
//   minutes.
// Real-time policies: POSIX makes a reader with such a policy wait for a writer of equal or higher
//   priority, however long that writer waits. So such a writer sets kUrgent together with
//   kDraining, and notes its priority (platform/waiting_priority.h). A reader that finds the flag
//   compares that priority with its own; without the flag it makes no system call.
// BRAVO: a revocation is such a drain. A guest never switches the bias on.
// Marked locks: readers go first anyway. One that has waited in the lock below since before the
//   mark gets in as any other reader does (marked.h).
// Fork: nobody waits in a child, so kDraining and the level are cleared, and n stays.
// Cost: none unless a thread waits. A writer that waits for readers updates the word once before
//   and once after. In between, readers release through the slow path (RwContract::has_only_hold).
#pragma once

#include <algorithm>
#include <cstdint>

#include "locks/common/events.h"
#include "locks/concept.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/rw_word.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, class Frame, EventCounter Count>
class Guests {
  using Word = RwWord<P>;

 public:
  // The listener that a writer passes to the lock below.
  struct Drain {
    Frame& f;

    void begin() const noexcept {
      // relaxed: only the writer whose turn it is changes kDraining, and its turn synchronises it
      // with earlier writers.
      if (P::reader_patience() == 0 || (f.contract.load(relaxed) & Word::kDraining) != 0) return;
      // The system call is cheap compared with the wait for readers that follows. As in all locks,
      // priorities count only where threads sleep.
      const std::uint32_t priority = W::kParks ? P::priority_of(P::tid()) : 0;
      if (priority != 0) P::note_waiting_priority(&f, priority, false);
      // release: republishes what earlier writers did; pairs with enter.
      f.contract.fetch_or(Word::kDraining | (priority != 0 ? Word::kUrgent : 0), release);
    }
    void gave_up() const noexcept {
      if ((f.contract.load(relaxed) & Word::kDraining) == 0) return;  // relaxed: as in begin
      // relaxed: nothing to publish; the next writer synchronises through the lock below.
      f.contract.fetch_and(~Word::kOfDrain, relaxed);
    }
  };

  // Returns the level at which a reader begins to wait.
  static std::uint64_t level(const Frame& f) noexcept {
    return Word::level_in(f.contract.load(relaxed));  // relaxed: affects timing only
  }
  // Returns the caller's deadline (nullptr for none), with the patience of that level.
  static Deadline with_patience(const Deadline* deadline, std::uint64_t level) noexcept {
    Deadline d = deadline != nullptr ? *deadline : Deadline{CLOCK_MONOTONIC, kNoTime};
    d.patience = P::reader_patience();
    for (; level != 0; --level)
      d.patience += d.patience / 2;
    return d;
  }

  // What a reader remembers about the current writer from one recheck to the next.
  class Stays {
   public:
    // Called after a recheck that found no waiting writer, by a reader with that patience.
    void looked(const Frame& f, std::uint64_t patience) noexcept {
      const std::uint32_t now = f.writer.load(relaxed);  // relaxed: affects timing only
      const bool same = now != 0 && now == writer_ && patience < kLongest;
      writer_ = now;
      longer_ = same ? std::min(kTimes * std::max(longer_, patience), kLongest) : 0;
    }
    // Returns the time that replaces the patience, or 0 if none does.
    std::uint64_t longer() const noexcept { return longer_; }

   private:
    static constexpr std::uint64_t kTimes = 8, kLongest = 10'000'000'000;  // nanoseconds
    std::uint32_t writer_ = 0;
    std::uint64_t longer_ = 0;
  };

  // Returns the new level after a guest that began to wait at level waited_at has got in. If the
  // present level is lower, a writer has got in since, and the guest's wait says nothing about this
  // drain.
  static constexpr std::uint64_t level_after(std::uint64_t level,
                                             std::uint64_t waited_at) noexcept {
    const std::uint64_t reached = waited_at <= level ? waited_at + 1 : 1;
    return std::min(std::max(level, reached), Word::kMostLevel);
  }

  // Called by a reader whose patience at that level is over. Returns true if it has got an extra
  // hold.
  static bool enter(Frame& f, std::uint64_t waited_at) noexcept {
    std::uint64_t v = f.contract.load(relaxed);  // the compare-exchange decides
    std::uint64_t next;
    do {
      const bool may = (v & Word::kMarked) != 0 ? (v & Word::kActive) == 0
                                                : (v & Word::kDraining) != 0 && !is_behind(f, v);
      if (!may || Word::flags_in(v) >= Word::kMostExtra) return false;
      next = v + Word::kExtra;
      if ((v & Word::kDraining) != 0) {
        const std::uint64_t level = level_after(Word::level_in(v), waited_at);
        next = (next & ~Word::kLevel) | level << Word::kLevelShift;
      }
      // acquire: pairs with begin, or with the release in RwWriter::open. All later values of the
      // word belong to the same release sequence.
    } while (!f.contract.compare_exchange(v, next, acquire));
    P::check(
        [&f, next] { return Word::is_sound(next) && Word::is_sound(f.contract.load(relaxed)); });
    Count::on(&f, Event::read);
    Count::on(&f, Event::patience_read);
    return true;
  }

 private:
  // Returns whether a reader that finds that word must wait for its writer, because both have
  // real-time policies and the writer's priority is at least as high.
  static bool is_behind(const Frame& f, std::uint64_t v) noexcept {
    if ((v & Word::kUrgent) == 0) return false;
    const std::uint32_t priority = P::priority_of(P::tid());
    return priority != 0 && P::waiting_priority(&f) >= priority;
  }
};

}  // namespace lockswap
