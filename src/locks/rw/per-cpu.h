// per-cpu: an array of BA locks, one for each possible CPU.
//
// Paper: D. Dice, A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019),
//   sections 2 and 5 (Per-CPU); after the Linux kernel's brlock (J. Corbet, LWN 2010) and W. Hsieh,
//   W. Weihl, "Scalable reader-writer locks for parallel systems" (IPPS 1992).
// Idea: a reader takes the lock of the CPU that it runs on, and remembers which one. A writer takes
//   all of them, in order. So readers on different CPUs write to different cache lines.
// State: in the object a pointer to a block (side_block.h). For each CPU the block has a BA lock
//   and `holds`, which counts those of its read holds that their threads know of. The head has
//   `leaving`, the number of writers that have begun a release and not finished it.
// Invariants: a reader counts itself in `holds` once it knows that it has the BA lock. A release
//   takes one from there first, by an RMW that cannot take what is not there. So two releases never
//   end the same hold, whichever threads make them. Nor does a release end the hold of a reader
//   that has not noticed yet that it holds the lock, and that may still time out and take its
//   arrival back.
// Fairness: phase-fair, as is the BA lock at which a reader arrives. Writers are first come, first
//   served, since they all queue at the first lock. While any writer waits for the next lock, it
//   keeps readers from those that it has.
// Space: 128 bytes per CPU and 128 more; writers hold a queue node per CPU.
// Deviations: a release by a thread without a record takes any hold, as holds are alike. If that
//   was another thread's, the other thread's release finds its own place empty and takes the hold
//   that is left.
// Destroy is safe: a reader's last access is BA's. A writer's is to `leaving`, for which destroy
//   waits, because readers of the first CPUs may come and go before a writer has released the last
//   lock.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/common/read_tokens.h"
#include "locks/common/side_block.h"
#include "locks/concept.h"
#include "locks/rw/ba.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// Each takes two cache lines, because processors fetch lines in pairs.
template <Platform P>
struct alignas(128) PerCpuHead : BlockStart<P> {
  typename P::template atomic<std::uint32_t> leaving;
};
template <Platform P, WaitPolicy<P> W>
struct alignas(128) PerCpuPart {
  Ba<P, W> lock;
  typename P::template atomic<std::uint32_t> holds;
};

template <Platform P, WaitPolicy<P> W>
class PerCpu : public BlockLock<P, PerCpu<P, W>, PartsPer::cpu> {
  using Base = BlockLock<P, PerCpu, PartsPer::cpu>;
  friend Base;
  using Head = PerCpuHead<P>;
  using Part = PerCpuPart<P, W>;
  using State = SideBlock<P, PerCpu, Head, Part, KnownBy::seal>;
  using Blocks = typename State::Blocks;

 public:
  static constexpr Claims kClaims = Ba<P, W>::kClaims;
  static constexpr LockInfo kInfo{
      .summary = "a BA lock for each CPU: a reader takes its own CPU's, a writer takes all",
      .source = "Dice and Kogan 2019, sections 2 and 5, Per-CPU; Linux's brlock",
      .fairness = Ba<P, W>::kInfo.fairness,
      .kinds = Ba<P, W>::kInfo.kinds,
      .readers_overtake = true,  // at CPUs that the writer has not reached
      .aliases = {"PerCPU"},
      .instructions = 136,
  };
  static constexpr bool kHasTokens = true;                // 1 + the CPU's number
  static constexpr std::uint32_t kNoAttempt = kMustWait;  // an attempt has kWaits

  static bool prepare() noexcept { return Ba<P, W>::prepare() && Base::prepare_blocks(); }

  // Returns a token, or kWaits with the CPU and the lowest bits of the number of BA's phase.
  [[gnu::always_inline]] std::uint32_t read_arrive() noexcept {
    const std::uint32_t token = P::cpu() + 1;
    Part& part = part_of(token);
    const std::uint32_t phase = part.lock.read_arrive();
    if (phase != 0) [[unlikely]]
      return attempt_of(token, phase);
    count_in(part);
    return token;
  }
  bool read_wait(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    const std::uint32_t token = token_in(attempt);
    Part& part = part_of(token);
    const std::uint32_t phase = phase_in(attempt, part);
    if (phase != 0 && !part.lock.read_wait(phase, deadline)) return false;
    count_in(part);
    attempt = token;
    return true;
  }
  bool read_withdraw(std::uint32_t& attempt) noexcept {
    const std::uint32_t token = token_in(attempt);
    Part& part = part_of(token);
    const std::uint32_t phase = phase_in(attempt, part);
    if (phase != 0 && part.lock.read_withdraw(phase)) return true;
    count_in(part);
    attempt = token;
    return false;
  }
  bool try_read_lock(std::uint32_t& token) noexcept {
    token = P::cpu() + 1;
    Part& part = part_of(token);
    if (!part.lock.try_read_lock()) return false;
    count_in(part);
    return true;
  }

  [[gnu::always_inline]] bool read_unlock(std::uint32_t token) noexcept {
    return token != 0 && end_one(State::part(state_.held(), token - 1));
  }
  // Searches from the first CPU on, so that a thread that has a hold finds one, however many others
  // search. The places that a searcher has passed are empty, or have the hold of a later arrival,
  // which ends by a release of its own.
  bool read_unlock_any() noexcept {
    Head* const h = state_.peek();
    return h != nullptr && end_any(*h);
  }

  // The listener is told of each CPU whose readers are waited for.
  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    take_all(listener, [&listener](Part& part) {
      part.lock.write_lock(listener);
      return true;
    });
  }
  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    if (try_write_lock()) return true;
    if (P::passed(*deadline)) return false;  // it would disturb readers for nothing
    return take_all(listener, [deadline, &listener](Part& part) {
      return part.lock.write_lock_until(deadline, listener);
    });
  }
  bool try_write_lock() noexcept {
    // Check all before disturbing any: a reader is reason enough to fail.
    if (has_readers()) return false;
    return take_all(NobodyListens{}, [](Part& part) { return part.lock.try_write_lock(); });
  }
  void write_unlock() noexcept { release_first(state_.held(), Blocks::parts()); }

  bool has_readers() const noexcept {
    Head* const h = state_.peek();
    for (std::uint32_t i = 0; h != nullptr && i < Blocks::parts(); ++i) {
      if (State::part(*h, i).lock.has_readers()) return true;
    }
    return false;
  }
  // Returns whether a writer has its turn, or has not finished its release.
  bool has_writer() const noexcept {
    Head* const h = state_.peek();
    // acquire, inside and here: a thread that sees the first lock released sees `leaving` raised
    // before it; pairs with release_first.
    return h != nullptr && (State::part(*h, 0).lock.has_writer() || h->leaving.load(acquire) != 0);
  }
  bool too_many_readers() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && State::part(*h, P::cpu()).lock.too_many_readers();
  }
  // --- in a forked child (LockCore). relaxed: fork() orders what threads did.
  bool needs_no_repair(bool written) const noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return !written;
    return h->leaving.load(relaxed) == 0 &&
           State::each_part(*h, [written](Part& part, std::uint32_t) {
             return part.lock.needs_no_repair(written);
           });
  }
  void repair_after_fork(bool written) noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return;
    State::each_part(*h, [written](Part& part, std::uint32_t) {
      part.lock.repair_after_fork(written);
      return true;
    });
    h->leaving.store(0, relaxed);
  }

  // --- for side_block.h
  static bool is_idle(Head& h) noexcept {
    // Both relaxed: all threads have ended, or the program has ordered their last use.
    const auto at_rest = [](Part& part, std::uint32_t) {
      return part.lock.idle() && part.holds.load(relaxed) == 0;
    };
    return State::each_part(h, at_rest) && h.leaving.load(relaxed) == 0;
  }
  static void await_leavers(Head& h) noexcept {
    // acquire: pairs with the release in release_first. Not for ever: a forked child has only one
    // of its parent's threads.
    for (unsigned round = 0; h.leaving.load(acquire) != 0 && round < kMostRounds; ++round)
      P::step_aside(round);
  }
  static void end_holds(Head& h) noexcept {
    while (end_any(h)) {}
  }

 private:
  static constexpr unsigned kMostRounds = 64;  // some 50 ms

  [[gnu::always_inline]] Part& part_of(std::uint32_t token) noexcept {
    return State::part(state_.head(), token - 1);
  }

  // An attempt consists of the token, above it as many of the phase's bits as there is room for
  // (all of them with up to 15 CPUs, 22 with 256), and kWaits.
  static constexpr std::uint32_t kWaits = 1u << 31;
  static_assert(kWaits >= kMustWait && kWaits >> 4 == 1u << Ba<P, W>::kPhaseBits);
  static int token_bits() noexcept { return 32 - std::countl_zero(Blocks::parts() | 1); }
  static std::uint32_t attempt_of(std::uint32_t token, std::uint32_t phase) noexcept {
    return Ba<P, W>::phase_number(phase) << token_bits() | token | kWaits;
  }
  static std::uint32_t token_in(std::uint32_t attempt) noexcept {
    return attempt & ((1u << token_bits()) - 1);
  }
  // Returns the phase that it waits for, or 0 if that is over.
  static std::uint32_t phase_in(std::uint32_t attempt, Part& part) noexcept {
    const int bits = token_bits();
    return part.lock.whole_phase((attempt & ~kWaits) >> bits, (kWaits - 1) >> bits);
  }

  static void count_in(Part& part) noexcept {
    // release: the thread that ends this hold has seen its arrival in the BA lock; pairs with
    // end_one.
    part.holds.fetch_add(1, release);
  }
  // Releases one hold of that CPU. Returns false if there is none.
  [[gnu::always_inline]] static bool end_one(Part& part) noexcept {
    std::uint32_t n;
    do {
      // acquire: if there is none, the thread that took the caller's hold has left another one,
      // which must be visible. Pairs with the compare-exchange.
      n = part.holds.load(acquire);
      if (n == 0) return false;
      // acquire: pairs with count_in. release: pairs with the load above, in another thread.
    } while (!part.holds.compare_exchange(n, n - 1, acq_rel));
    part.lock.read_unlock();
    return true;
  }
  static bool end_any(Head& h) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (end_one(State::part(h, i))) return true;
    }
    return false;
  }

  template <DrainListener L, class Take>
  bool take_all(const L& listener, const Take& take) noexcept {
    Head& h = state_.head();
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (!take(State::part(h, i))) {
        // The turn is given back with the first CPU's lock.
        if (i != 0) listener.gave_up();
        release_first(h, i);
        return false;
      }
    }
    return true;
  }
  static void release_first(Head& h, std::uint32_t taken) noexcept {
    if (taken == 0) return;
    // relaxed: published by the release of the first lock; pairs with has_writer and await_leavers.
    h.leaving.fetch_add(1, relaxed);
    for (std::uint32_t i = 0; i < taken; ++i)
      State::part(h, i).lock.write_unlock();
    // release: the block may be another lock's after this. Pairs with await_leavers.
    h.leaving.fetch_sub(1, release);
  }

  State state_;
};

}  // namespace lockswap
