// PF-T: the phase-fair ticket lock.
//
// Paper: B. Brandenburg, J. Anderson, "Spin-based reader-writer synchronization for multiprocessor
//   real-time systems", Real-Time Systems 46 (2010), section 4 (PF-T).
// Idea: readers count themselves in (rin) and out (rout), and writers take tickets. The writer
//   whose turn it is marks rin with PRES (a writer is present) and with its phase. Then it waits
//   until as many readers have left as had arrived before the mark. A reader that meets the mark
//   waits until those bits change in any way, so it waits for one writer only, and readers and
//   writers alternate.
// State (24 bytes, zero = free):
//   word  64 bits: pf_t_word.h; rin, wout, 4 bits for the enclosing lock, flags, among them PRES
//   rout  32 bits: departures (31), kDrain
//   win   32 bits: the next ticket; tickets are compared modulo 2^24
//   arrivals_at_phase  64 bits: a ticket, and how many readers had arrived when it set PRES. Only
//         forked children read it
// States:
//
//      state     PRES  who leaves it, and how
//   1  open       0    the writer with ticket wout sets PRES: 2, or 3 without readers
//   2  draining   1    the last reader that arrived in 1 leaves: 3; the writer times out: 1
//   3  written    1    the writer releases the lock: 1
//   Leaving 2 or 3 for 1 clears PRES and increments wout. A reader that arrives in 1 has the lock
//   at once; one that arrives in 2 or 3 gets it with the next 1, or may time out before.
// Invariants: only the holder of ticket wout sets PRES. While PRES is set, no reader that arrived
//   later holds the lock. rout never passes rin. In drain mode (kDrain, while the writer of 2
//   sleeps) rout counts up to 0 instead of up to rin, so that the last reader knows it is the last.
// Fairness: phase-fair, for timed readers too, and writers are first come, first served. A timed
//   writer takes a ticket only when its turn would come at once, so it has no place in the queue.
// Space: at most 2^24 - 1 writers at once, 2^31 readers at once.
// Deviations, none of which changes the order in which threads enter:
//   - rin and wout share a word, because a release must be a single RMW, after which the object may
//     be destroyed.
//   - A phase is the writer's whole ticket, where the paper has one bit. A timed writer may time
//     out before readers of the previous phase have noticed that they hold the lock, and with one
//     bit their own phase would then seem to go on.
//   - In drain mode the last reader, and no other one, wakes a sleeping writer, without reading the
//     lock again.
//   - A reader that times out takes its arrival back. It must not count itself out instead, because
//     a writer that drains would take it for a reader that arrived earlier.
// Fork: in a child, the readers that arrived after arrivals_at_phase was recorded were waiting for
//   a writer that does not exist there, and so were the queued writers. repair_after_fork() drops
//   both. A reader that may have arrived earlier counts as a holder.
// Destroy is safe: a writer's last access is the compare-exchange of its release, a reader's is the
//   fetch-add on rout; only a wake of the address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/concept.h"
#include "locks/rw/pf_t_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, PfTUser User>
class PfTOver {
  using Word = PfTWord;

 public:
  static constexpr Claims kClaims{.phase_fair = true, .fifo_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "phase-fair ticket lock",
      .source = "Brandenburg and Anderson 2010, section 4, PF-T",
      .fairness = "phase-fair, writers first come first served",
      .kinds = kKindsAlternate,
      .aliases = {"PFT"},
      .instructions = 47,
      .write_instructions = 121,
  };

  static bool prepare() noexcept { return true; }

  static constexpr std::uint32_t kNoAttempt = 4;  // an attempt contains PRES
  static_assert((kNoAttempt & Word::kPresent) == 0);

  // Counts the reader in. Returns 0 if it holds the lock, or the phase of the writer that it met.
  std::uint32_t read_arrive() noexcept {
    // acquire: pairs with the release in write_unlock.
    const std::uint64_t seen = word_.fetch_add(Word::kReader, acquire);
    return Word::is_free(seen) ? 0 : Word::phase_of(seen);
  }

  bool read_wait(std::uint32_t phase, const Deadline* deadline) noexcept {
    // acquire: pairs with the release in write_unlock, which changed the phase.
    const auto over = [phase](std::uint64_t v) { return Word::is_over(v, phase); };
    return W::until(word_, acquire, Word::kReadersSleep, Word::kReadersChannel, deadline, over);
  }

  // Takes the arrival back while the writer that the reader met is still there, so no later writer
  // can have counted it. Returns false if that writer has left, in which case the reader holds the
  // lock.
  bool read_withdraw(std::uint32_t phase) noexcept {
    for (;;) {
      // acquire: if the phase is over, the reader holds the lock; pairs with write_unlock.
      std::uint64_t v = word_.load(acquire);
      if (Word::is_over(v, phase)) return false;
      // relaxed: nothing was read or written under the lock.
      if (word_.compare_exchange(v, v - Word::kReader, relaxed)) return true;
    }
  }

  bool try_read_lock() noexcept { return read_if_free(); }
  static constexpr bool kReadsIfFree = true;
  [[gnu::always_inline]] bool read_if_free() noexcept {
    std::uint64_t v = word_.load(relaxed);  // the compare-exchange decides
    while (Word::is_free(v)) {
      // acquire: pairs with the release in write_unlock.
      if (word_.compare_exchange(v, v + Word::kReader, acquire)) return true;
    }
    return false;
  }

  void read_unlock() noexcept {
    P::check([this] { return counts_me(); });
    // release: the reader's critical section; pairs with the acquire in all_left_at, or in
    // wait_to_drain.
    const std::uint32_t left = rout_.fetch_add(kLeft, release) + kLeft;
    if constexpr (W::kParks) {
      if (left == kDrain) [[unlikely]]
        W::wake(&rout_, kDrainChannel);
    }
  }

  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    // relaxed: a ticket orders nothing; the thread joins the queue by watching wout.
    const std::uint32_t ticket = win_.fetch_add(1, relaxed) & Word::kTicketMask;
    const auto my_turn = [ticket](std::uint64_t v) { return Word::turn(v) == ticket; };
    // acquire: pairs with the release in write_unlock.
    if (!my_turn(word_.load(acquire))) {
      W::until(word_, acquire, Word::kWritersSleep, Word::channel_of(ticket), nullptr, my_turn);
    }
    const std::uint32_t target = enter_phase(ticket);
    if (all_left_at(target)) [[likely]]
      return;
    listener.begin();
    wait_to_drain(target, nullptr);
  }

  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    for (;;) {
      const std::uint64_t v = word_.load(acquire);  // pairs with write_unlock
      if (take_turn(v)) {
        const std::uint32_t target = enter_phase(Word::turn(v));
        if (all_left_at(target)) return true;
        listener.begin();
        if (wait_to_drain(target, deadline)) return true;
        listener.gave_up();
        write_unlock();
        return false;
      }
      const auto moved = [v](std::uint64_t now) { return Word::turn(now) != Word::turn(v); };
      // relaxed: the next round rechecks.
      if (!W::until(word_, relaxed, Word::kWritersSleep, Word::kTimedWritersChannel, deadline,
                    moved)) {
        return false;
      }
    }
  }

  bool try_write_lock() noexcept {
    std::uint64_t v = word_.load(acquire);  // pairs with write_unlock
    if (!Word::is_free(v) || !all_left(v) || !take_turn(v)) return false;
    if (step(v, 0, Word::kPresent)) return true;
    write_unlock();  // no phase was opened: this only passes the turn on
    return false;
  }
  // The same for a lock that also has readers elsewhere; none() returns whether it has none there.
  // A trylock must not fail because of a reader that backs out on account of that trylock. So a
  // reader that meets kTrying there falls back to this lock, and gets it unless this writer updates
  // the word first.
  template <class F>
  bool try_write_lock(const F& none) noexcept {
    std::uint64_t v = word_.load(acquire);  // as above, also below
    if (!Word::is_free(v) || !all_left(v) || !take_turn(v)) return false;
    if (step(v, 0, Word::kTrying) && none() && step(v, Word::kTrying, Word::kPresent)) return true;
    write_unlock();
    return false;
  }

  void write_unlock() noexcept {
    std::uint64_t v = word_.load(relaxed);  // wout and PRES are the owner's; the rest is checked
    const std::uint32_t next = (Word::turn(v) + 1) & Word::kTicketMask;
    // release: the writer's critical section; pairs with the acquires of readers, in read_arrive,
    // read_wait, read_withdraw and try_read_lock, and of writers that check for their turn.
    constexpr std::uint64_t kStays = Word::kArrived | User::kUserBits;
    while (!word_.compare_exchange(v, (v & kStays) | next << Word::kTurnShift, release)) {}
    if constexpr (W::kParks) {
      const std::uint32_t channels =
          ((v & Word::kReadersSleep) != 0 ? Word::kReadersChannel : 0) |
          ((v & Word::kWritersSleep) != 0 ? Word::channel_of(next) | Word::kTimedWritersChannel
                                          : 0);
      if (channels != 0) [[unlikely]]
        W::wake(&word_, channels);
    }
  }

  // --- racy snapshots, which may be stale at once
  // Never false while a read hold lasts: rout is loaded first (acquire: pairs with read_unlock, so
  // every departure's arrival is seen), and the arrivals loaded later exceed it by that hold.
  bool has_readers() const noexcept {
    const std::uint32_t left = rout_.load(acquire);
    return left != Word::arrived(word_.load(relaxed)) << kLeftShift;
  }
  bool has_writer() const noexcept {
    return (word_.load(acquire) & Word::kPresent) != 0;  // acquire: pairs with write_unlock
  }
  bool idle() const noexcept {
    const std::uint64_t v = word_.load(relaxed);  // for tests, when all threads have ended
    return Word::is_free(v) && all_left(v) &&
           Word::turn(v) == (win_.load(relaxed) & Word::kTicketMask);
  }
  // Half of the counters' range is in use: admit no more.
  bool too_many_readers() const noexcept {
    // acquire: pairs with read_unlock, so not more are seen to have left than to have arrived.
    const std::uint32_t left = rout_.load(acquire);
    if ((left & kDrain) != 0) return false;  // rout counts something else for a moment
    return ((Word::arrived(word_.load(relaxed)) << kLeftShift) - left) >> 31 != 0;
  }

  // --- in a forked child, before its first acquisition; `written`: a writer's hold is among those
  // that stay. All relaxed: fork() orders what came before, rw_contract.h what is done here.
  // Returns whether there are holds and nothing else. Changes nothing.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint64_t v = word_.load(relaxed);
    if (Word::is_free(v) == written || (v & (Word::kReadersSleep | Word::kWritersSleep)) != 0) {
      return false;
    }
    const std::uint32_t next = Word::turn(v) + (written ? 1 : 0);
    return ((win_.load(relaxed) - next) & Word::kTicketMask) == 0 && (!written || all_left(v));
  }
  // Drops the waiting threads. Holds may end meanwhile, and the process may fork again, so after
  // each step the state still has the same meaning.
  void repair_after_fork(bool written) noexcept {
    const std::uint64_t v = word_.load(relaxed);
    const std::uint64_t arrivals_at_phase = arrivals_at_phase_.load(relaxed);
    const bool is_recorded =
        !Word::is_free(v) && arrivals_at_phase >> 32 == (Word::turn(v) | kRecorded);
    const std::uint32_t readers =
        is_recorded ? static_cast<std::uint32_t>(arrivals_at_phase) : Word::arrived(v);
    if ((rout_.load(relaxed) & kDrain) != 0) {
      rout_.fetch_add((readers << kLeftShift) - kDrain, relaxed);
    }
    // Without a writer the turn passes on, so that no two writers have the same ticket in
    // arrivals_at_phase.
    const std::uint64_t next = (Word::turn(v) + 1) & Word::kTicketMask;
    const std::uint64_t phase =
        (written ? v & Word::kPhase : next << Word::kTurnShift) | (v & User::kUserBits);
    word_.store(std::uint64_t{readers} << 32 | phase, relaxed);
    win_.store(static_cast<std::uint32_t>(next), relaxed);
  }

  // --- for a lock that is built on this one
  auto& word() noexcept { return word_; }
  const auto& word() const noexcept { return word_; }

 private:
  // In rout, which counts up to 0 in drain mode; the reader that reaches 0 wakes the writer.
  static constexpr std::uint32_t kDrain = 1;
  static constexpr std::uint32_t kLeft = 2;
  static constexpr int kLeftShift = 1;
  static constexpr std::uint32_t kDrainChannel = 1u << 2;

  // Next to the ticket in the high half of arrivals_at_phase.
  static constexpr std::uint32_t kRecorded = Word::kTicketMask + 1;

  bool all_left_at(std::uint32_t target) const noexcept {
    return rout_.load(acquire) == target;  // acquire: pairs with read_unlock
  }
  bool all_left(std::uint64_t v) const noexcept {
    return all_left_at(Word::arrived(v) << kLeftShift);
  }

  // --- for P::check
  // For a reader that holds the lock: fewer readers have left than have arrived or, in drain mode,
  // than the writer waits for.
  bool counts_me() const noexcept {
    const std::uint32_t left = rout_.load(relaxed);
    const std::uint32_t all =
        (left & kDrain) != 0 ? kDrain : Word::arrived(word_.load(relaxed)) << kLeftShift;
    return static_cast<std::int32_t>(all - left) >= static_cast<std::int32_t>(kLeft);
  }
  // Returns whether it is this ticket's turn and its phase can be opened.
  bool may_open(std::uint32_t ticket) const noexcept {
    const std::uint64_t v = word_.load(relaxed);
    return Word::turn(v) == ticket && Word::is_free(v) &&
           (win_.load(relaxed) & Word::kTicketMask) != ticket;
  }

  // --- writing

  // Takes the ticket whose turn it is, if no thread has it.
  bool take_turn(std::uint64_t v) noexcept {
    std::uint32_t next = win_.load(relaxed);
    return (next & Word::kTicketMask) == Word::turn(v) &&
           win_.compare_exchange(next, next + 1, relaxed);
  }

  // Called by the writer whose turn it is. Replaces `from` by `to` (each is kTrying, kPresent or 0)
  // in the word, whose last known value is v. Returns false if a reader was faster.
  bool step(std::uint64_t& v, std::uint64_t from, std::uint64_t to) noexcept {
    while (all_left(v)) {
      // The compare-exchange fails if readers have come since; besides, only flags may have
      // changed. all_left has acquired from earlier readers, the load of v from writers.
      const std::uint64_t next = (v & ~from) | to;
      if (!word_.compare_exchange(v, next, User::kAnnounce)) continue;
      P::check([this, v] { return Word::turn(word_.load(relaxed)) == Word::turn(v); });
      if (to == Word::kPresent) record_arrivals(Word::turn(v), Word::arrived(v));
      v = next;
      return true;
    }
    return false;
  }

  // Opens the writer's phase. Returns how many readers had arrived before, in the unit of rout.
  std::uint32_t enter_phase(std::uint32_t ticket) noexcept {
    if constexpr (W::kParks) {
      // The release that gave this turn cleared the flag and woke one writer. Others behind it may
      // stay asleep, so the flag is set again for them; later writers set it themselves. A
      // sleeper's ticket is visible in win_: its release when it fell asleep (in the wait policy)
      // synchronises with the acquire in write_lock that saw this turn.
      if (((win_.load(relaxed) - ticket) & Word::kTicketMask) != 1)
        word_.fetch_or(Word::kWritersSleep, relaxed);
    }
    P::check([this, ticket] { return may_open(ticket); });
    const std::uint64_t seen = word_.fetch_add(Word::kPresent, User::kAnnounce);
    record_arrivals(ticket, Word::arrived(seen));
    return Word::arrived(seen) << kLeftShift;
  }

  void record_arrivals(std::uint32_t ticket, std::uint32_t readers) noexcept {
    // relaxed: only read after fork(), which orders everything.
    arrivals_at_phase_.store(std::uint64_t{ticket | kRecorded} << 32 | readers, relaxed);
  }

  [[gnu::noinline]] bool wait_to_drain(std::uint32_t target, const Deadline* deadline) noexcept {
    if constexpr (!W::kParks) {
      return W::until(rout_, acquire, 0, 0, deadline,
                      [target](std::uint32_t v) { return v == target; });
    }
    for (typename P::Spins spins(&rout_); spins.more(); P::relax()) {
      if (rout_.load(acquire) != target) continue;
      spins.succeeded();
      return true;
    }
    // From here on rout counts from (left - target) up to 0.
    rout_.fetch_add(kDrain - target, relaxed);
    const auto drained = [](std::uint32_t v) { return v == kDrain; };
    const bool in = W::until(rout_, acquire, 0, kDrainChannel, deadline, drained);
    rout_.fetch_add(target - kDrain, relaxed);
    return in;
  }

  typename P::template atomic<std::uint64_t> word_{};
  typename P::template atomic<std::uint32_t> rout_{};
  typename P::template atomic<std::uint32_t> win_{};
  typename P::template atomic<std::uint64_t> arrivals_at_phase_{};
};

template <Platform P, WaitPolicy<P> W>
using PfT = PfTOver<P, W, PfTAlone>;

}  // namespace lockswap
