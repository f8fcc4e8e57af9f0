// cohort, cohort-n, cohort-rp: reader-writer locks for machines with several memory nodes. They
// prefer writers (C-RW-WP), nobody (C-RW-NP) or readers (C-RW-RP).
//
// Paper: I. Calciu, D. Dice, Y. Lev, V. Luchangco, V. Marathe, N. Shavit, "NUMA-aware reader-writer
//   locks" (PPoPP 2013), sections 3.1 to 3.3 (the locks) and 3.4 (reader indicators).
// Idea: a reader counts itself in at its node and checks whether a writer is present. If so, it
//   counts itself out again and waits. A writer takes a cohort mutex, announces itself, and
//   waits until nobody is counted in at any node (cohort_writers.h). As long as other writers wait
//   for the mutex, kPresent stays set.
// State: in the object a pointer to a block (side_block.h). For each node the block has a reader
//   indicator (all_readers.h) and the local lock of the mutex. The head has the global lock, the
//   node of the writer that holds the lock, what a writer waits for, and `state`
//   (cohort_writers.h): whether a writer is present, and how many readers wait.
// Invariants: waiting readers are not counted in, except momentarily. (No P::check: a counter
//   doesn't show for how long its readers stay.)
// Fairness: at most kMostInARow + 1 writers of a node in a row while others wait. A timed writer
//   takes the mutex only when it is free, and then waits for readers like any other.
//   cohort     waiting readers go first after kMostInARow writers
//   cohort-n   waiting readers go first after each writer
//   cohort-rp  the same, and a writer lets new readers go first kMostInARow times. Each time it
//              waits until as many readers have left as held the lock when it checked, which takes
//              at most as long as the longest hold H. So readers delay it by 32 H at most, however
//              many come. After that it waits as in the others (posix/guests.h).
// Space: 256 bytes per node and 256 more.
// Deviations: in the paper an impatient reader raises a barrier at which new writers wait. Here
//   writers count their acquisitions and raise the barrier themselves, so no reader reads a clock.
//   A cohort-rp writer does so when its patience is over. In C-RW-NP readers go through the mutex,
//   too; here the waiting readers go first when a writer leaves, so that readers write to the
//   mutex's lines only where nobody waits for them. A writer waits for the readers of all nodes at
//   once, so a release by a thread without a record may count out any reader, on any node.
// Fork: a reader that was turning back when the process forked may stay counted in
//   (repair_after_fork).
// Destroy is safe: a reader's last access is to its indicator, or to `state` while it waits
//   (all_readers.h). A writer's is the mutex's. destroy() waits for a writer's last access, because
//   readers may come and go before it.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/common/read_tokens.h"
#include "locks/common/side_block.h"
#include "locks/concept.h"
#include "locks/rw/cohort_writers.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// The descriptions of the three locks.
constexpr LockInfo cohort_rw_info(const char* summary, const char* source, const char* alias,
                                  const char* fairness, const char* kinds,
                                  bool readers_overtake = false) {
  return {.summary = summary,
          .source = source,
          .fairness = fairness,
          .kinds = kinds,
          .readers_overtake = readers_overtake,
          .aliases = {alias},
          .instructions = 76};
}
inline constexpr LockInfo kCohortRwInfo =
    cohort_rw_info("NUMA-aware lock: a reader indicator for each node, a cohort mutex for writers",
                   "Calciu and others 2013, section 3.3, C-RW-WP", "C-RW-WP",
                   "writers first; after 32 of them, or when none waits, the readers that wait",
                   "no effect: writers go first");
inline constexpr LockInfo kCohortRwNeutralInfo = cohort_rw_info(
    "cohort that prefers neither readers nor writers",
    "Calciu and others 2013, section 3.1, C-RW-NP", "C-RW-NP",
    "after each writer the readers that wait; of writers, those of the node", kKindsAlternate);
inline constexpr LockInfo kCohortRwReadersInfo = cohort_rw_info(
    "cohort that prefers readers", "Calciu and others 2013, section 3.2, C-RW-RP", "C-RW-RP",
    "readers first, also later ones; a writer lets them go first 32 times at most",
    "no effect: readers go first", true);

// The two numbers are explained in cohort_writers.h.
template <Platform P, WaitPolicy<P> W, std::uint32_t kWriters, std::uint32_t kPatience>
class CohortRwOver : public BlockLock<P, CohortRwOver<P, W, kWriters, kPatience>, PartsPer::node> {
  using Base = BlockLock<P, CohortRwOver, PartsPer::node>;
  friend Base;
  using Writers = CohortWriters<P, W, kWriters, kPatience>;
  using Readers = typename Writers::Readers;
  using Head = typename Writers::Head;
  using Part = typename Writers::Part;
  using State = SideBlock<P, CohortRwOver, Head, Part, KnownBy::seal>;

 public:
  static constexpr Claims kClaims{};
  static constexpr LockInfo kInfo = kPatience != 0  ? kCohortRwReadersInfo
                                    : kWriters == 1 ? kCohortRwNeutralInfo
                                                    : kCohortRwInfo;
  static constexpr bool kHasTokens = true;  // 1 + the node's number

  static constexpr std::uint32_t kNoAttempt = kMustWait + 2;

  static bool prepare() noexcept { return Base::prepare_blocks(); }

  [[gnu::always_inline]] std::uint32_t read_arrive() noexcept { return enter(state_.head()); }

  bool read_wait(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    Head& h = state_.head();
    // relaxed, here and in the wait: this affects only the order of threads. enter() decides which
    // threads get the lock.
    if (attempt != kWaits) h.state.fetch_add(Writers::kWaiter, relaxed);
    attempt = kWaits;
    Deadline room{};
    while (W::until(h.state, relaxed, Writers::kSleepers, Writers::kOverChannel, deadline,
                    Writers::nobody_present)) {
      const std::uint32_t token = enter(h);
      if (token >= kMustWait) {
        as_at_first(deadline, room);  // another writer
        continue;
      }
      attempt = token;
      stop_waiting(h);
      return true;
    }
    return false;
  }
  // At its node it is already counted out.
  bool read_withdraw(std::uint32_t& attempt) noexcept {
    if (attempt == kWaits) stop_waiting(state_.head());
    attempt = kMustWait;
    return true;
  }
  bool try_read_lock(std::uint32_t& token) noexcept {
    token = enter(state_.head());
    return token < kMustWait;
  }

  bool read_unlock(std::uint32_t token) noexcept {
    if (token == 0) return false;
    Readers::depart(state_.held(), token - 1);
    return true;
  }
  // At any node: see all_readers.h.
  bool read_unlock_any() noexcept {
    Head* const h = state_.peek();
    if (h == nullptr || Readers::none(*h)) return false;
    Readers::depart(*h, 0);
    return true;
  }

  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    Head& h = state_.head();
    Writers::take_mutex(h);
    Writers::get_in(h, nullptr, listener);
  }
  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    if (try_write_lock()) return true;
    if (P::passed(*deadline)) return false;  // it would turn readers back for nothing
    Head& h = state_.head();
    for (unsigned round = 0; !Writers::try_mutex(h); ++round) {
      if (P::passed(*deadline)) return false;
      // relaxed, also below: the next round checks.
      if (Writers::nobody_present(h.state.load(relaxed))) {
        P::step_aside(round);
      } else if (!W::until(h.state, relaxed, Writers::kSleepers, Writers::kOverChannel, deadline,
                           Writers::nobody_present)) {
        return false;
      }
    }
    if (Writers::get_in(h, deadline, listener)) return true;
    listener.gave_up();
    Writers::release_writer(h);
    return false;
  }
  bool try_write_lock() noexcept {
    Head& h = state_.head();
    // Check before disturbing readers: they are reason enough to fail.
    if (!Readers::none(h) || !Writers::try_mutex(h)) return false;
    if (Writers::try_to_appear(h)) return true;
    Writers::release_writer(h);
    return false;
  }
  void write_unlock() noexcept { Writers::release_writer(state_.held()); }

  bool has_readers() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && !Readers::none(*h);
  }
  bool has_writer() const noexcept {
    Head* const h = state_.peek();
    // acquire: pairs with the release in release_writer.
    return h != nullptr && (h->state.load(acquire) & Writers::kPresent) != 0;
  }
  bool too_many_readers() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && Readers::too_many(*h);
  }

  // --- in a forked child (LockCore). relaxed: fork() orders what threads did.
  bool needs_no_repair(bool written) const noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return !written;
    const std::uint32_t node = h->node.load(relaxed);
    return h->state.load(relaxed) == (written ? Writers::kPresent : 0) &&
           h->global.needs_no_repair(written) && Readers::needs_no_repair(*h, written) &&
           State::each_part(*h, [written, node](Part& part, std::uint32_t i) {
             return part.local.lock.needs_no_repair(written && i == node);
           });
  }
  // If the fork came while a reader was between counting itself in and turning back, it stays
  // counted in, unless a writer's hold stays.
  void repair_after_fork(bool written) noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return;
    Readers::repair_after_fork(*h, written);
    const std::uint32_t node = h->node.load(relaxed);
    State::each_part(*h, [written, node](Part& part, std::uint32_t i) {
      part.local.repair_after_fork(written && i == node);
      return true;
    });
    h->global.repair_after_fork(written);
    h->state.store(written ? Writers::kPresent : 0, relaxed);
  }

  // --- for side_block.h
  static bool is_idle(Head& h) noexcept {
    // relaxed: all threads have ended, or the program has ordered their last use.
    const std::uint32_t v = h.state.load(relaxed);
    return (v & (Writers::kPresent | Writers::kTurn)) == 0 && v < Writers::kWaiter &&
           Readers::none(h) && Writers::mutex_is_free(h);
  }
  static void await_leavers(Head& h) noexcept {
    if (!Writers::nobody_present(h.state.load(relaxed))) return;  // held for writing
    // Not for ever: a forked child has only one of its parent's threads.
    for (unsigned round = 0; !Writers::mutex_is_free(h) && round < kMostRounds; ++round)
      P::step_aside(round);
  }
  static void end_holds(Head& h) noexcept {
    if (Writers::nobody_present(h.state.load(relaxed))) Readers::drop(h);
  }

 private:
  static constexpr unsigned kMostRounds = 64;  // some 50 ms

  // An attempt whose reader is counted as waiting.
  static constexpr std::uint32_t kWaits = kMustWait + 1;

  // --- readers

  // The reader's half of the Dekker pair with appear and drain: count in, then check for a writer.
  // Returns a token, or kMustWait.
  [[gnu::always_inline]] static std::uint32_t enter(Head& h) noexcept {
    const std::uint32_t token = P::node() + 1;
    State::part(h, token - 1).readers.arrive();
    // seq_cst: either the writer sees this arrival, or this reader sees the writer. As an acquire
    // it pairs with the release in release_writer.
    if (Writers::nobody_seen(h.state.load(seq_cst))) [[likely]]
      return token;
    return stay_or_turn_back(h, token);
  }
  // The reader stays if the writer that it saw is in a trylock that has not decided yet.
  [[gnu::noinline]] static std::uint32_t stay_or_turn_back(Head& h, std::uint32_t token) noexcept {
    std::uint32_t v = h.state.load(seq_cst);  // as in enter
    while (Writers::nobody_present(v)) {
      // seq_cst: pairs as the load in enter does, also with the next writer's scan.
      if (Writers::nobody_seen(v)) return token;
      if (h.state.compare_exchange(v, v & ~Writers::kTrying, seq_cst)) return token;
      v = h.state.load(seq_cst);
    }
    Readers::depart(h, token - 1);
    return kMustWait;
  }

  static void stop_waiting(Head& h) noexcept {
    std::uint32_t v = h.state.load(relaxed), next;
    do {
      next = v - Writers::kWaiter;
      if (next < Writers::kWaiter)
        next &= ~(Writers::kTurn | Writers::kPasses | Writers::kWriterSleeps);
      // relaxed: it publishes nothing; the writer goes on to check the arrivals.
    } while (!h.state.compare_exchange(v, next, relaxed));
    if constexpr (W::kParks) {
      if (((v ^ next) & Writers::kWriterSleeps) != 0) W::wake(&h.state, Writers::kTurnChannel);
    }
  }

  State state_;
};

template <Platform P, WaitPolicy<P> W>
using CohortRw = CohortRwOver<P, W, P::kMostInARow, 0>;
template <Platform P, WaitPolicy<P> W>
using CohortRwNeutral = CohortRwOver<P, W, 1, 0>;
template <Platform P, WaitPolicy<P> W>
using CohortRwReaders = CohortRwOver<P, W, 1, P::kMostInARow>;

}  // namespace lockswap
