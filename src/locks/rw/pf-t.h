// PF-T: the phase-fair ticket lock.
//
// Paper: B. Brandenburg, J. Anderson, "Spin-based reader-writer synchronization for multiprocessor
//   real-time systems", Real-Time Systems 46 (2010), section 4 (PF-T).
// Idea: a reader counts itself in (rin) when it comes and out (rout) when it leaves. A writer takes
//   a ticket, waits for its turn among writers, marks rin with "a writer is present" and its phase,
//   and waits until as many readers have left as had arrived. A reader that arrives meanwhile waits
//   for that one phase only: when its bits change, to whatever, the reader is in. So readers and
//   writers alternate.
// State (24 bytes, zero = free): pf_t_state.h, with the invariants.
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

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/concept.h"
#include "locks/rw/pf_t_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, PfTUser User>
class PfTOver : public PfTState<P, W, User> {
  using Base = PfTState<P, W, User>;
  using Base::all_left, Base::all_left_at, Base::arrived, Base::channel_of, Base::counts_me,
      Base::kArrivedMask, Base::kDrain, Base::kDrainChannel, Base::kLeft, Base::kLeftShift,
      Base::kPhase, Base::kReader, Base::kReadersChannel, Base::kReadersSleep, Base::kTicketMask,
      Base::kTimedWritersChannel, Base::kTurnShift, Base::kWritersSleep, Base::may_open,
      Base::record_arrivals, Base::rout_, Base::win_, Base::word_;

 public:
  using Base::kPresent, Base::kTrying, Base::turn;

  static constexpr Claims kClaims{.phase_fair = true, .fifo_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "phase-fair ticket lock",
      .source = "Brandenburg and Anderson 2010, section 4, PF-T",
      .fairness = "phase-fair, writers first come first served",
      .kinds = kKindsAlternate,
      .aliases = {"PFT"},
      .instructions = 47,
  };

  static bool prepare() noexcept { return true; }

  static constexpr std::uint32_t kNoAttempt = 4;  // an attempt has PRES
  static_assert((kNoAttempt & kPresent) == 0);

  // Counts the reader in. 0: it holds the lock. Otherwise the phase of the writer that it met.
  std::uint32_t read_arrive() noexcept {
    // acquire: pairs with the release in write_unlock.
    const std::uint64_t seen = word_.fetch_add(kReader, acquire);
    return (seen & kPresent) == 0 ? 0 : static_cast<std::uint32_t>(seen & kPhase);
  }

  bool read_wait(std::uint32_t phase, const Deadline* deadline) noexcept {
    // acquire: pairs with the release in write_unlock, which changed the phase.
    const auto over = [phase](std::uint64_t v) { return (v & kPhase) != phase; };
    return W::until(word_, acquire, kReadersSleep, kReadersChannel, deadline, over);
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

  bool try_read_lock() noexcept { return read_if_open(); }
  [[gnu::always_inline]] bool read_if_open() noexcept {
    std::uint64_t v = word_.load(relaxed);  // the compare-exchange decides
    while ((v & kPresent) == 0) {
      // acquire: pairs with the release in write_unlock.
      if (word_.compare_exchange(v, v + kReader, acquire)) return true;
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
    listener.begin();
    wait_to_drain(target, nullptr);
  }

  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    for (;;) {
      const std::uint64_t v = word_.load(acquire);  // pairs with write_unlock
      if (take_turn(v)) {
        const std::uint32_t target = enter_phase(turn(v));
        if (all_left_at(target)) return true;
        listener.begin();
        if (wait_to_drain(target, deadline)) return true;
        listener.gave_up();
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
    if (step(v, 0, kPresent)) return true;
    write_unlock();  // no phase was opened: this only passes the turn on
    return false;
  }
  // The same for a lock that has readers elsewhere, too; none() says whether it has none there. It
  // must not make such a reader turn back and then fail because it saw that reader. A reader that
  // turns back at kTrying comes here and is in, if this writer has not updated the word before.
  template <class F>
  bool try_write_lock(const F& none) noexcept {
    std::uint64_t v = word_.load(acquire);  // as above, also below
    if ((v & kPresent) != 0 || !all_left(v) || !take_turn(v)) return false;
    if (step(v, 0, kTrying) && none() && step(v, kTrying, kPresent)) return true;
    write_unlock();
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

 private:
  // Takes the ticket that has its turn now, if nobody has it.
  bool take_turn(std::uint64_t v) noexcept {
    std::uint32_t next = win_.load(relaxed);
    return (next & kTicketMask) == turn(v) && win_.compare_exchange(next, next + 1, relaxed);
  }

  // With the turn: makes `to` of `from`, each kTrying, kPresent or 0, in the word that was seen.
  // False: a reader was faster.
  bool step(std::uint64_t& v, std::uint64_t from, std::uint64_t to) noexcept {
    while (all_left(v)) {
      // The compare-exchange finds out readers that came since; only flags may change besides. What
      // the readers did was acquired in all_left, what the writers did by the load of v.
      const std::uint64_t next = (v & ~from) | to;
      if (!word_.compare_exchange(v, next, User::kAnnounce)) continue;
      P::check([this, v] { return turn(word_.load(relaxed)) == turn(v); });
      if (to == kPresent) record_arrivals(turn(v), arrived(v));
      v = next;
      return true;
    }
    return false;
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
    P::check([this, ticket] { return may_open(ticket); });
    const std::uint64_t seen = word_.fetch_add(kPresent, User::kAnnounce);
    record_arrivals(ticket, arrived(seen));
    return arrived(seen) << kLeftShift;
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
};

template <Platform P, WaitPolicy<P> W>
using PfT = PfTOver<P, W, PfTAlone>;

}  // namespace lockswap
