// PF-T: the phase-fair ticket lock.
//
// Paper: B. Brandenburg, J. Anderson, "Spin-based reader-writer synchronization for multiprocessor
//   real-time systems", Real-Time Systems 46 (2010), section 4 (PF-T).
// Idea: a reader counts itself in (rin) when it comes and out (rout) when it leaves. A writer takes
//   a ticket, waits for its turn among writers, marks rin with "a writer is present" and its phase,
//   and waits until as many readers have left as had arrived. A reader that arrives meanwhile waits
//   for that one phase only: when its bits change, to whatever, the reader is in. So readers and
//   writers alternate.
// State (24 bytes, zero = free):
//   word  64 bits: rin (high 32) | wout (24) | 4 bits of the lock's user, sleepers' flags, PRES
//   rout  32 bits: departures (31), kDrain
//   win   32 bits: the next ticket; tickets are compared modulo 2^24
//   arrivals_at_phase  64 bits: how many readers had arrived when ticket so-and-so set PRES. It is
//         read in forked children alone
// Invariants: only the holder of ticket wout sets PRES. While PRES is set, no reader that arrived
//   later holds the lock. rout never passes rin. In drain mode rout counts up to 0 instead of up to
//   rin.
// Fairness: phase-fair; writers are served first come, first served. This holds for timed readers
//   too. A timed writer takes a ticket only when it would have its turn at once, so it has no place
//   in the line.
// Space: at most 2^24 waiting writers, 2^31 readers at once.
// Deviations: rin and wout share a word, because a release must be one update: after it the object
//   may be gone. So a reader knows the phase that it met by the writer's whole ticket, where the
//   paper's knows one bit. It has to: a timed writer may give up before the readers of the phase
//   before have noticed that they are in, and one bit would have the same value again too early.
//   kDrain has exactly the last reader wake a sleeping writer, without another look at the lock. A
//   reader that gives up takes its arrival back; it never counts itself out, since a writer may be
//   draining. Nothing of this changes the order in which threads enter.
// Fork: in a child, the readers that arrived after arrivals_at_phase waited for a writer that does
//   not exist, and so did the writers in the line: repair_after_fork() drops both. A reader that
//   may have arrived before that is a holder.
// Destroy is safe: a writer's last access is the compare-exchange of its release, a reader's is the
//   fetch-add on rout; what may follow is a wake of the address.
#pragma once

#include <concepts>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// What a PF-T lock is used for, where that asks something of it.
template <class User>
concept PfTUser = requires {
  // Bits of the word that are the user's, among 0xf0. PF-T keeps them as they are.
  requires std::same_as<decltype(User::kUserBits), const std::uint64_t>;
  requires(User::kUserBits & ~std::uint64_t{0xf0}) == 0;
  // The order of the update by which a writer makes itself seen.
  requires std::same_as<decltype(User::kAnnounce), const Order>;
};

// By itself. relaxed: the readers before the update are awaited at rout, the readers after it need
// no data, and what the writers before did was acquired with the turn.
struct PfTAlone {
  static constexpr std::uint64_t kUserBits = 0;
  static constexpr Order kAnnounce = relaxed;
};

template <Platform P, WaitPolicy<P> W, PfTUser User>
class PfTOver {
 public:
  static constexpr Claims kClaims{.phase_fair = true, .fifo_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "phase-fair ticket lock",
      .source = "Brandenburg and Anderson 2010, section 4, PF-T",
      .fairness = "phase-fair, writers first come first served",
      .kinds = kKindsAlternate,
      .aliases = {"PFT"},
      .instructions = 45,
  };

  static bool prepare() noexcept { return true; }

  // Counts the reader in. 0: it holds the lock. Otherwise the phase of the writer that it met.
  std::uint32_t read_arrive() noexcept {
    // acquire: pairs with the release in write_unlock.
    const std::uint64_t seen = word_.fetch_add(kReader, acquire);
    return (seen & kPresent) == 0 ? 0 : static_cast<std::uint32_t>(seen & kPhase);
  }

  bool read_wait(std::uint32_t phase, const Deadline* deadline) noexcept {
    // acquire: pairs with the release in write_unlock, which changed the phase.
    const auto over = [phase](std::uint64_t v) { return (v & kPhase) != phase; };
    if (W::until(word_, acquire, kReadersSleep, kReadersChannel, deadline, over)) return true;
    return !read_withdraw(phase);
  }

  // Takes the arrival back while the writer that was met is still there: no later writer can have
  // counted it. False: that writer has left, so the reader holds the lock.
  bool read_withdraw(std::uint32_t phase) noexcept {
    for (;;) {
      // acquire: if the phase is over, the reader is in; pairs with the release in write_unlock.
      std::uint64_t v = word_.load(acquire);
      if ((v & kPhase) != phase) return false;
      // relaxed: nothing was read or written under the lock.
      if (word_.compare_exchange(v, v - kReader, relaxed)) return true;
    }
  }

  bool try_read_lock() noexcept {
    std::uint64_t v = word_.load(relaxed);
    while ((v & kPresent) == 0) {
      // acquire: pairs with the release in write_unlock.
      if (word_.compare_exchange(v, v + kReader, acquire)) return true;
    }
    return false;
  }

  void read_unlock() noexcept {
    // release: the reader's critical section; pairs with the acquire in all_left_at, or in
    // wait_to_drain.
    const std::uint32_t left = rout_.fetch_add(kLeft, release) + kLeft;
    if constexpr (W::kParks) {
      if (left == kDrain) [[unlikely]]
        W::wake(&rout_, kDrainChannel);
    }
  }

  void write_lock() noexcept {
    write_lock([] {});
  }
  // Calls before_drain if it has to wait for readers, when new readers wait behind it already.
  template <class F>
  void write_lock(const F& before_drain) noexcept {
    // relaxed: a ticket orders nothing; the line is joined by watching wout.
    const std::uint32_t ticket = win_.fetch_add(1, relaxed) & kTicketMask;
    const auto my_turn = [ticket](std::uint64_t v) { return turn(v) == ticket; };
    // acquire: pairs with the release in write_unlock.
    if (!my_turn(word_.load(acquire))) {
      W::until(word_, acquire, kWritersSleep, channel_of(ticket), nullptr, my_turn);
    }
    const std::uint32_t target = enter_phase(ticket);
    if (all_left_at(target)) [[likely]]
      return;
    before_drain();
    wait_to_drain(target, nullptr);
  }

  bool write_lock_until(const Deadline* deadline) noexcept {
    for (;;) {
      const std::uint64_t v = word_.load(acquire);  // pairs with write_unlock
      if (take_turn(v)) {
        if (drain(enter_phase(turn(v)), deadline)) return true;
        write_unlock();
        return false;
      }
      const auto moved = [v](std::uint64_t now) { return turn(now) != turn(v); };
      // relaxed: the next round looks again.
      if (!W::until(word_, relaxed, kWritersSleep, kTimedWritersChannel, deadline, moved)) {
        return false;
      }
    }
  }

  bool try_write_lock() noexcept {
    std::uint64_t v = word_.load(acquire);  // pairs with write_unlock
    if ((v & kPresent) != 0 || !all_left(v) || !take_turn(v)) return false;
    for (;;) {
      // The compare-exchange finds out readers that came since; only flags may change besides. What
      // the readers did was acquired in all_left, what the writers did by the load of v.
      if (word_.compare_exchange(v, v | kPresent, User::kAnnounce)) {
        record_arrivals(turn(v), arrived(v));
        return true;
      }
      if (!all_left(v)) break;
    }
    write_unlock();  // no phase was opened: this only passes the turn on
    return false;
  }

  void write_unlock() noexcept {
    std::uint64_t v = word_.load(relaxed);  // wout and PRES are the owner's; the rest is checked
    const std::uint32_t next = (turn(v) + 1) & kTicketMask;
    // release: the writer's critical section; pairs with the acquires of readers, in read_arrive,
    // read_wait, read_withdraw and try_read_lock, and of writers, where they look for their turn.
    constexpr std::uint64_t kStays = kArrivedMask | User::kUserBits;
    while (!word_.compare_exchange(v, (v & kStays) | next << kTurnShift, release)) {}
    if constexpr (W::kParks) {
      const std::uint32_t channels =
          ((v & kReadersSleep) != 0 ? kReadersChannel : 0) |
          ((v & kWritersSleep) != 0 ? channel_of(next) | kTimedWritersChannel : 0);
      if (channels != 0) [[unlikely]]
        W::wake(&word_, channels);
    }
  }

  // --- glimpses, which may be old at once
  // Never false while a hold stays: rout is read first (acquire: pairs with read_unlock, so that
  // the arrivals of the readers that left are seen), and the arrivals that are read later are more
  // by that hold.
  bool has_readers() const noexcept {
    const std::uint32_t left = rout_.load(acquire);
    return left != arrived(word_.load(relaxed)) << kLeftShift;
  }
  bool has_writer() const noexcept {
    return (word_.load(acquire) & kPresent) != 0;  // acquire: pairs with write_unlock
  }
  bool idle() const noexcept {
    const std::uint64_t v = word_.load(relaxed);  // for tests, when all threads have ended
    return (v & kPresent) == 0 && all_left(v) && turn(v) == (win_.load(relaxed) & kTicketMask);
  }
  // Half of the counters' range is in use: admit no more.
  bool too_many_readers() const noexcept {
    // acquire: pairs with read_unlock, so not more are seen to have left than to have arrived.
    const std::uint32_t left = rout_.load(acquire);
    if ((left & kDrain) != 0) return false;  // rout counts something else for a moment
    return ((arrived(word_.load(relaxed)) << kLeftShift) - left) >> 31 != 0;
  }

  // --- for a lock that is made of this one
  static constexpr std::uint64_t kPresent = 2;  // a writer has its turn
  auto& word() noexcept { return word_; }
  const auto& word() const noexcept { return word_; }
  // Of the word, or of a phase: how many writers there were, modulo 2^24.
  static std::uint32_t turn(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> kTurnShift) & kTicketMask;
  }
  static std::uint32_t phase_of_turn(std::uint32_t turn) noexcept {
    return turn << kTurnShift | static_cast<std::uint32_t>(kPresent);
  }

  // --- in a forked child, before its first acquisition; `written`: a writer's hold is among those
  // that stay. relaxed, all: the fork handed on what threads did, and rw_contract.h does so here.
  // True: there are holds and nothing else. Does not change anything.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint64_t v = word_.load(relaxed);
    if (((v & kPresent) != 0) != written || (v & (kReadersSleep | kWritersSleep)) != 0) {
      return false;
    }
    const std::uint32_t next = turn(v) + (written ? 1 : 0);
    return ((win_.load(relaxed) - next) & kTicketMask) == 0 && (!written || all_left(v));
  }
  // Drops the threads that wait. Meanwhile holds may end, and the process may fork again, so the
  // state means the same after each step.
  void repair_after_fork(bool written) noexcept {
    const std::uint64_t v = word_.load(relaxed);
    const std::uint64_t arrivals_at_phase = arrivals_at_phase_.load(relaxed);
    const bool is_recorded =
        (v & kPresent) != 0 && arrivals_at_phase >> 32 == (turn(v) | kRecorded);
    const std::uint32_t readers =
        is_recorded ? static_cast<std::uint32_t>(arrivals_at_phase) : arrived(v);
    if ((rout_.load(relaxed) & kDrain) != 0) {
      rout_.fetch_add((readers << kLeftShift) - kDrain, relaxed);
    }
    // Without a writer the turn passes on, so that no two writers have the same ticket in
    // arrivals_at_phase.
    const std::uint64_t next = (turn(v) + 1) & kTicketMask;
    const std::uint64_t phase = (written ? v & kPhase : next << kTurnShift) | (v & User::kUserBits);
    word_.store(std::uint64_t{readers} << 32 | phase, relaxed);
    win_.store(static_cast<std::uint32_t>(next), relaxed);
  }

 private:
  static constexpr std::uint64_t kReadersSleep = 4;  // a reader sleeps until the phase is over
  static constexpr std::uint64_t kWritersSleep = 8;  // a writer sleeps until its turn
  static constexpr int kTurnShift = 8;
  static constexpr std::uint64_t kTicketMask = (1u << 24) - 1;
  static constexpr std::uint64_t kPhase = kTicketMask << kTurnShift | kPresent;
  static constexpr std::uint64_t kReader = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kArrivedMask = ~(kReader - 1);

  static constexpr std::uint32_t kDrain =
      1;  // rout counts up to 0; the reader that gets there wakes
  static constexpr std::uint32_t kLeft = 2;
  static constexpr int kLeftShift = 1;

  // Beside the ticket in the high half of arrivals_at_phase.
  static constexpr std::uint32_t kRecorded = kTicketMask + 1;

  // Channels of the futex on word's low half, so that a release wakes all readers and one writer.
  static constexpr std::uint32_t kReadersChannel = 1u << 0;
  static constexpr std::uint32_t kTimedWritersChannel = 1u << 1;
  static constexpr std::uint32_t kDrainChannel = 1u << 2;
  static std::uint32_t channel_of(std::uint32_t ticket) noexcept { return 8u << ticket % 29; }

  static std::uint32_t arrived(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> 32);
  }

  bool all_left_at(std::uint32_t target) const noexcept {
    return rout_.load(acquire) == target;  // acquire: pairs with read_unlock
  }
  bool all_left(std::uint64_t v) const noexcept { return all_left_at(arrived(v) << kLeftShift); }

  // Takes the ticket that has its turn now, if nobody has it.
  bool take_turn(std::uint64_t v) noexcept {
    std::uint32_t next = win_.load(relaxed);
    return (next & kTicketMask) == turn(v) && win_.compare_exchange(next, next + 1, relaxed);
  }

  // Opens the writer's phase; returns how many readers had arrived, as rout counts them.
  std::uint32_t enter_phase(std::uint32_t ticket) noexcept {
    if constexpr (W::kParks) {
      // The release that gave this turn cleared the flag and woke one writer. Others behind it may
      // sleep on, so the flag is set again for them; a writer that comes later sets it itself. The
      // ticket of a sleeper is seen here: that writer lay down (release, in the wait policy) before
      // this turn was given (acquire, in write_lock).
      if (((win_.load(relaxed) - ticket) & kTicketMask) != 1)
        word_.fetch_or(kWritersSleep, relaxed);
    }
    const std::uint64_t seen = word_.fetch_add(kPresent, User::kAnnounce);
    record_arrivals(ticket, arrived(seen));
    return arrived(seen) << kLeftShift;
  }

  void record_arrivals(std::uint32_t ticket, std::uint32_t readers) noexcept {
    // relaxed: read after a fork only, which hands everything on.
    arrivals_at_phase_.store(std::uint64_t{ticket | kRecorded} << 32 | readers, relaxed);
  }

  bool drain(std::uint32_t target, const Deadline* deadline) noexcept {
    return all_left_at(target) || wait_to_drain(target, deadline);
  }

  [[gnu::noinline]] bool wait_to_drain(std::uint32_t target, const Deadline* deadline) noexcept {
    if constexpr (!W::kParks) {
      return W::until(rout_, acquire, 0, 0, deadline,
                      [target](std::uint32_t v) { return v == target; });
    }
    for (std::uint32_t i = P::spin_budget(); i != 0; --i) {
      if (rout_.load(acquire) == target) return true;
      P::relax();
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
