// gcr-NAME: the reader-writer lock NAME under concurrency restriction.
//
// Paper, idea, liveness, deviations: common/lanes.h.
// Idea: a reader that finds the underlying lock open enters at once, as without gcr. Otherwise it
//   waits outside for a lane, as a writer does, then arrives at the underlying lock, and leaves the
//   lane when it holds that. So readers that were passive during a write enter one after another.
// State (8 bytes, zero = free): a pointer to the block of lanes.h, with the underlying lock.
// Invariants: those of lanes.h.
// Fairness: that of the underlying lock for threads in its queue. Passive threads are not in that
//   queue, so its phases do not count them.
// Space: as in lanes.h.
// Deviations: the paper restricts mutexes.
// Destroy is safe as it is in lanes.h.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lanes.h"
#include "locks/common/lock_info.h"
#include "locks/common/read_tokens.h"
#include "locks/concept.h"
#include "locks/rw/ba.h"
#include "locks/rw/cohort.h"
#include "locks/rw/per-cpu.h"
#include "locks/rw/pf-t.h"
#include "locks/rw/rlu.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// A lock has tokens if it declares this member, whatever its value.
template <bool kHas>
struct SaysTokens {};
template <>
struct SaysTokens<true> {
  static constexpr bool kHasTokens = true;
};

template <Platform P, LineWaitPolicy<P> W, TellsOfDrains Lock>
requires NamesNoAttempt<Lock>
class GcrRw : public Lanes<P, W, Lock, GcrRw<P, W, Lock>, KnownBy::seal>,
              public SaysTokens<TokenHolds<Lock>> {
  using Base = Lanes<P, W, Lock, GcrRw, KnownBy::seal>;
  friend typename Base::Base;
  using Reads = ReadTokens<Lock>;
  using Base::state_;
  using typename Base::Head, typename Base::Pass;
  static constexpr bool kTokens = Reads::kHasTokens;

 public:
  static constexpr Claims kClaims{};
  static constexpr LockInfo kInfo =
      gcr_info(Lock::kInfo, Lock::kInfo.instructions + (FastReadCore<Lock> ? 62 : 28));

  // --- reading; 0 or a token, an attempt of the underlying lock, or kAside

  std::uint32_t read_arrive() noexcept {
    std::uint32_t token = 0;
    return Reads::try_lock(state_.head().lock, token) ? token : kAside;
  }
  bool read_wait(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    Head& h = state_.head();
    if (attempt != kAside) return Reads::wait(h.lock, attempt, deadline);
    const Pass pass(h, deadline);
    attempt = h.lock.read_arrive();
    return Reads::is_in(attempt) || Reads::wait(h.lock, attempt, deadline);
  }
  bool read_withdraw(std::uint32_t& attempt) noexcept {
    return attempt == kAside || Reads::withdraw(state_.head().lock, attempt);
  }

  bool try_read_lock() noexcept requires(!kTokens) { return state_.head().lock.try_read_lock(); }
  void read_unlock() noexcept requires(!kTokens) { state_.held().lock.read_unlock(); }

  bool try_read_lock(std::uint32_t& token) noexcept requires kTokens {
    return state_.head().lock.try_read_lock(token);
  }
  bool read_unlock(std::uint32_t token) noexcept requires kTokens {
    return Reads::fast_unlock(state_.held().lock, token) ||
           Reads::unlock(state_.held().lock, token);
  }
  bool read_unlock_any() noexcept requires kTokens {
    Head* const h = state_.peek();
    return h != nullptr && h->lock.read_unlock_any();
  }

  // --- writing

  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    Head& h = state_.head();
    if (h.lock.try_write_lock()) return;
    const Pass pass(h, nullptr);
    h.lock.write_lock(listener);
  }
  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    Head& h = state_.head();
    if (h.lock.try_write_lock()) return true;
    if (P::passed(*deadline)) return false;
    const Pass pass(h, deadline);
    return h.lock.write_lock_until(deadline, listener);
  }
  bool try_write_lock() noexcept { return state_.head().lock.try_write_lock(); }
  void write_unlock() noexcept { state_.held().lock.write_unlock(); }

  // --- racy snapshots
  bool has_readers() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && h->lock.has_readers();
  }
  bool has_writer() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && h->lock.has_writer();
  }
  bool too_many_readers() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && h->lock.too_many_readers();
  }

  // For side_block.h.
  static void await_leavers(Head& h) noexcept {
    if constexpr (EndingCore<Lock>) h.lock.destroy();
  }
  static void end_holds(Head& h) noexcept {
    if (h.lock.has_writer()) return;
    while (h.lock.has_readers() && Reads::unlock_any(h.lock)) {}
    if constexpr (EndingCore<Lock>) h.lock.destroy();
  }

 private:
  // An attempt: nothing was done yet.
  static constexpr std::uint32_t kAside = Lock::kNoAttempt;
};

template <Platform P, LineWaitPolicy<P> W>
using GcrPfT = GcrRw<P, W, PfT<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrBa = GcrRw<P, W, Ba<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrCohortRw = GcrRw<P, W, CohortRw<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrPerCpu = GcrRw<P, W, PerCpu<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrRlu = GcrRw<P, W, Rlu<P, W>>;

}  // namespace lockswap
