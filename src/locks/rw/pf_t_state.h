// The state of a PF-T lock (pf-t.h): its words and bits, what can be seen of it at a glance, and
// what is put right in it after a fork.
//
// State (24 bytes, zero = free):
//   word  64 bits: rin (high 32) | wout (24) | 4 bits of the lock's user, sleepers' flags, PRES,
//         kTrying
//   rout  32 bits: departures (31), kDrain
//   win   32 bits: the next ticket; tickets are compared modulo 2^24
//   arrivals_at_phase  64 bits: how many readers had arrived when ticket so-and-so set PRES. It is
//         read in forked children alone
// Invariants: only the holder of ticket wout sets PRES. While PRES is set, no reader that arrived
//   later holds the lock. rout never passes rin. In drain mode rout counts up to 0 instead of up to
//   rin.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
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
class PfTState {
 public:
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
  // A writer that only tries has its turn, and looks for readers elsewhere. A reader that meets it
  // there comes here instead, and is in.
  static constexpr std::uint64_t kTrying = 1;
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

 protected:
  // For P::check, by a reader that is in: fewer have left than have arrived. In drain mode fewer
  // than the writer waits for.
  bool counts_me() const noexcept {
    const std::uint32_t left = rout_.load(relaxed);
    const std::uint32_t all =
        (left & kDrain) != 0 ? kDrain : arrived(word_.load(relaxed)) << kLeftShift;
    return static_cast<std::int32_t>(all - left) >= static_cast<std::int32_t>(kLeft);
  }
  // The thread that has this ticket has its turn, and opens its phase.
  bool may_open(std::uint32_t ticket) const noexcept {
    const std::uint64_t v = word_.load(relaxed);
    return turn(v) == ticket && (v & kPresent) == 0 && (win_.load(relaxed) & kTicketMask) != ticket;
  }

  static constexpr std::uint64_t kReadersSleep = 4;  // a reader sleeps until the phase is over
  static constexpr std::uint64_t kWritersSleep = 8;  // a writer sleeps until its turn
  static constexpr int kTurnShift = 8;
  static constexpr std::uint64_t kTicketMask = (1u << 24) - 1;
  static constexpr std::uint64_t kPhase = kTicketMask << kTurnShift | kPresent;
  static constexpr std::uint64_t kReader = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kArrivedMask = ~(kReader - 1);

  // rout counts up to 0; the reader that gets there wakes.
  static constexpr std::uint32_t kDrain = 1;
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

  void record_arrivals(std::uint32_t ticket, std::uint32_t readers) noexcept {
    // relaxed: read after a fork only, which hands everything on.
    arrivals_at_phase_.store(std::uint64_t{ticket | kRecorded} << 32 | readers, relaxed);
  }

  typename P::template atomic<std::uint64_t> word_{};
  typename P::template atomic<std::uint32_t> rout_{};
  typename P::template atomic<std::uint32_t> win_{};
  typename P::template atomic<std::uint64_t> arrivals_at_phase_{};
};

}  // namespace lockswap
