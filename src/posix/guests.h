// Guests: readers that are let in past a writer which waits for other readers, because they have
// waited for longer than the reader's patience (LOCKSWAP_READER_PATIENCE_US).
//
// Why: in a fair lock a reader waits behind a writer that waits for the readers that are in. If one
//   of those waits for that reader, by a condition variable or a barrier, say, or at another lock,
//   all three wait for ever. Under glibc's default lock they do not: there a reader gets in
//   whenever no writer is in.
// Idea: a read hold that is counted in the contract word keeps a writer out, in whichever lock
//   below, since the writer looks at that word before it is in. So a guest's hold is an extra one
//   (extra_holds.h), and this is all about when it may be added: while kDraining is set, that is
//   while a writer has its turn and is not in. Reader and writer decide by one word.
// Steps of a writer:
//   1. it has its turn in the lock below, and has to wait for readers: it sets kDraining (begin)
//   2. it has the lock below, waits until n is 0, and with the same compare-exchange clears
//      kDraining (RwWriter::shut)
//   2a. or it gives up: it clears kDraining, and only then gives its turn back (gave_up). The
//      guests that are in stay counted, and the next writer waits for them
// Steps of a reader that waits:
//   1. after its patience it looks for kDraining. Without it a writer is in, or about to be: the
//      reader waits on in its place in the lock below, for as long again
//      If the same writer was in at the look before, too, it stays in, and no patience can help:
//      then each sleep is eight times as long as the last one, up to ten seconds, until another
//      writer is found there, or none. Else many readers behind one long write hold would use up a
//      processor. A reader that wakes up because that writer has left, and has to wait for the
//      next one, has its usual patience again (as_at_first in clock.h). One that sleeps on, since
//      it lost a race with the writer's release, delays those that wait for it for eight times as
//      long as it has waited already, at most
//   2. with it, the reader adds an extra hold, and has the lock
//   3. only then it takes back its arrival in the lock below. If it is too late for that, it has
//      the lock twice, and ends the extra hold
// Fairness: the lock's, until a reader has waited for its patience. Patience grows, so that readers
//   that hold the lock for long and keep coming do not keep a writer out: a reader that begins to
//   wait at level L waits 1.5^L times the patience p; a guest raises the level to L + 1; the writer
//   that gets in sets it to 0. All readers that begin to wait at one level come in after the same
//   time, however many they are. Guests of level L come within a time of p * 1.5^L; those of level
//   L + 1 begin p * 1.5^(L+1) after the first of these; so when each holds the lock for H at most,
//   there is a moment without a guest as soon as p * 1.5^L > 2 H, and the writer gets in within 13
//   H + 5 p. A chain of k readers, of which each waits for the next, goes on after 2 p * 1.5^k at
//   most. A reader that began to wait before an earlier writer got in counts as one of level 0,
//   else each writer's level would begin where the last one's ended: readers that meet at a barrier
//   inside, again and again, would wait for minutes.
// Real-time policies: POSIX has a reader with such a policy wait for a writer of an equal or a
//   higher priority, however long that waits. So such a writer sets kUrgent together with
//   kDraining, and notes its priority (platform/waiting_priority.h); a reader that finds the flag
//   compares that with its own. Without the flag nobody asks.
// BRAVO: revoking is such a drain. No guest switches the bias on.
// Marked locks: readers go first anyway; one that has waited in the lock below since before the
//   mark comes in as any other reader does (marked.h).
// Fork: in a child nobody waits: kDraining and the level are cleared, and n stays.
// Cost: nothing where nobody waits. A writer that waits for readers makes an update before and one
//   after; meanwhile readers that leave take the longer way out (RwContract::has_only_hold).
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
      // relaxed: only a writer in its turn changes kDraining, and what the writers before did came
      // with the turn.
      if (P::reader_patience() == 0 || (f.contract.load(relaxed) & Word::kDraining) != 0) return;
      // The system call is cheap beside the wait for readers that follows. Priorities count only
      // where threads sleep, as in all locks.
      const std::uint32_t priority = W::kParks ? P::priority_of(P::tid()) : 0;
      if (priority != 0) P::note_waiting_priority(&f, priority, false);
      // release: hands on the writers before; pairs with enter.
      f.contract.fetch_or(Word::kDraining | (priority != 0 ? Word::kUrgent : 0), release);
    }
    void gave_up() const noexcept {
      if ((f.contract.load(relaxed) & Word::kDraining) == 0) return;  // relaxed: as in begin
      // relaxed: it hands nothing on; the next writer gets it with the turn.
      f.contract.fetch_and(~Word::kOfDrain, relaxed);
    }
  };

  // Returns the level at which a reader begins to wait.
  static std::uint64_t level(const Frame& f) noexcept {
    return Word::level_in(f.contract.load(relaxed));  // relaxed: it decides nothing but times
  }
  // Returns the caller's deadline (nullptr for none), with the patience at that level.
  static Deadline with_patience(const Deadline* deadline, std::uint64_t level) noexcept {
    Deadline d = deadline != nullptr ? *deadline : Deadline{CLOCK_MONOTONIC, kNoTime};
    d.patience = P::reader_patience();
    for (; level != 0; --level)
      d.patience += d.patience / 2;
    return d;
  }

  // What a reader remembers of the writer that is in, from one recheck to the next.
  class Stays {
   public:
    // Called after a recheck that found no waiting writer, by a reader with that patience.
    void looked(const Frame& f, std::uint64_t patience) noexcept {
      const std::uint32_t now = f.writer.load(relaxed);  // it decides nothing but times
      const bool same = now != 0 && now == writer_ && patience < kLongest;
      writer_ = now;
      longer_ = same ? std::min(kTimes * std::max(longer_, patience), kLongest) : 0;
    }
    // Returns the time that replaces the patience, or 0 for none.
    std::uint64_t longer() const noexcept { return longer_; }

   private:
    static constexpr std::uint64_t kTimes = 8, kLongest = 10'000'000'000;  // nanoseconds
    std::uint32_t writer_ = 0;
    std::uint64_t longer_ = 0;
  };

  // Returns the level after a guest that waited at one level has come in at another. If the present
  // level is the lower one, a writer has got in meanwhile, and the guest's wait says nothing about
  // this drain.
  static constexpr std::uint64_t level_after(std::uint64_t level,
                                             std::uint64_t waited_at) noexcept {
    const std::uint64_t reached = waited_at <= level ? waited_at + 1 : 1;
    return std::min(std::max(level, reached), Word::kMostLevel);
  }

  // Called by a reader that has waited for its patience at that level. Returns true if it has an
  // extra hold.
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
      // acquire: pairs with begin, or with the release in RwWriter::open; all later values of the
      // word continue it.
    } while (!f.contract.compare_exchange(v, next, acquire));
    P::check(
        [&f, next] { return Word::is_sound(next) && Word::is_sound(f.contract.load(relaxed)); });
    Count::on(&f, Event::read);
    Count::on(&f, Event::patience_read);
    return true;
  }

 private:
  // Returns whether a reader that finds that word has to wait for its writer: both have real-time
  // policies, and the writer's priority is not the lower one.
  static bool is_behind(const Frame& f, std::uint64_t v) noexcept {
    if ((v & Word::kUrgent) == 0) return false;
    const std::uint32_t priority = P::priority_of(P::tid());
    return priority != 0 && P::waiting_priority(&f) >= priority;
  }
};

}  // namespace lockswap
