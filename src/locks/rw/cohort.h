// cohort, cohort-n, cohort-rp: reader-writer locks for machines with several memory nodes. Writers
// go first (C-RW-WP), nobody does (C-RW-NP), or readers do (C-RW-RP).
//
// Paper: I. Calciu, D. Dice, Y. Lev, V. Luchangco, V. Marathe, N. Shavit, "NUMA-aware reader-writer
//   locks" (PPoPP 2013), sections 3.1 to 3.3 (the three) and 3.4 (reader indicators).
// Idea: a reader counts itself in at its node and looks whether a writer is there; if so, it counts
//   itself out again and waits. A writer takes a cohort mutex, says that it is there, and waits
//   until nobody is counted in at any node. While writers wait for the mutex it stays said.
// State: in the object a pointer to a block (side_block.h). The block: for each node a reader
//   indicator (all_readers.h) and the local lock of the mutex; in the head the global lock, the
//   node of the writer that is in, what a writer waits for, and `state`
//   bit 0      kPresent: a writer is there
//   bits 1,2   somebody sleeps until that is over; the writer with the mutex, until kTurn is
//   bit 3      kTurn: readers that wait go first
//   bits 4..9  how many writers were in since readers wait
//   bits 10..  readers that wait
// Invariants: kPresent and kTurn are set by the holder of the mutex; kTurn is cleared by the last
//   reader that waited. Readers that wait are not counted in, but for moments.
// Fairness: of writers, at most kMostInARow + 1 of a node in a row while others wait. A timed
// writer
//   takes the mutex only when it is free, then waits for readers like others.
//   cohort     after kMostInARow writers the readers that wait go first
//   cohort-n   after each
//   cohort-rp  after each; and a writer lets new readers in while there are any. After kMostInARow
//              times that as many had left as were in when it looked, it lets in no more.
// Space: 256 bytes a node, and 256.
// Deviations: the paper's impatient reader raises a barrier that new writers wait at; here writers
//   count how many of them were in, and set it up themselves, so no reader looks at a clock. So
//   does a writer of cohort-rp whose patience is over. In C-RW-NP readers go through the mutex,
//   too; here the readers that wait go first when a writer leaves, so that readers only write to
//   the mutex's lines where nobody waits for them. A writer waits for the readers of all nodes at
//   once, so a release by a thread without a record may count anybody out, anywhere.
// Destroy is safe: a reader's last access is to its indicator, or to who waits (all_readers.h). A
//   writer's is the mutex's; destroy waits for it, since readers may be in and out before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/cohorting.h"
#include "locks/common/lock_info.h"
#include "locks/common/read_tokens.h"
#include "locks/common/side_block.h"
#include "locks/mutex/ticket.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "readers/all_readers.h"
#include "readers/reader_indicator.h"

namespace lockswap {

// Two lines each: processors fetch them in pairs.
template <class P, class Global>
struct alignas(128) CohortRwHead {
  typename P::template atomic<std::uint32_t> link;
  typename P::template atomic<std::uint32_t> state;
  typename P::template atomic<std::uint64_t> owner;
  typename P::template atomic<std::uint32_t> node;
  ReadersAwaited<P> awaited;
  alignas(128) Global global;
};
template <class P, class Local>
struct alignas(128) CohortRwPart {
  ReaderIndicator<P> readers;
  alignas(128) Local local;
};

// What the three say of themselves.
inline constexpr LockInfo kCohortRwInfo{
    .summary = "NUMA-aware lock: a reader indicator for each node, a cohort mutex for writers",
    .source = "Calciu and others 2013, section 3.3, C-RW-WP",
    .fairness = "writers first; after 32 of them, or when none waits, the readers that wait",
    .kinds = "no effect: writers go first",
    .aliases = {"C-RW-WP"},
    .instructions = 75,
};
inline constexpr LockInfo kCohortRwNeutralInfo{
    .summary = "cohort that prefers neither readers nor writers",
    .source = "Calciu and others 2013, section 3.1, C-RW-NP",
    .fairness = "after each writer the readers that wait; of writers, those of the node",
    .kinds = "no effect: readers and writers alternate",
    .aliases = {"C-RW-NP"},
    .instructions = 75,
};
inline constexpr LockInfo kCohortRwReadersInfo{
    .summary = "cohort that prefers readers",
    .source = "Calciu and others 2013, section 3.2, C-RW-RP",
    .fairness = "readers first, also those that come later; 32 times, then the writer",
    .kinds = "no effect: readers go first",
    .readers_overtake = true,
    .aliases = {"C-RW-RP"},
    .instructions = 75,
};

// kWriters: how many of them go in a row while readers wait. kPatience: how often a writer lets
// readers go first that came after it.
template <class P, class W, std::uint32_t kWriters, std::uint32_t kPatience>
class CohortRwOver {
  using Mutex = Cohorting<P, Ticket<P, W>, Ticket<P, W>, P::kMostInARow>;
  using Head = CohortRwHead<P, Ticket<P, W>>;
  using Part = CohortRwPart<P, typename Mutex::Node>;
  using State = SideBlock<P, CohortRwOver, Head, Part>;
  using Blocks = typename State::Blocks;
  using Readers = AllReaders<P, W, Head, Blocks>;

 public:
  static constexpr Claims kClaims{};
  static constexpr LockInfo kInfo = kPatience != 0  ? kCohortRwReadersInfo
                                    : kWriters == 1 ? kCohortRwNeutralInfo
                                                    : kCohortRwInfo;
  static constexpr bool kHasTokens = true;  // 1 + the node's number

  static bool prepare() noexcept {
    P::prepare_topology();
    return Blocks::prepare(P::node_count());
  }
  // Beside the object; on this machine.
  static std::size_t block_bytes() noexcept { return Blocks::bytes_with(P::node_count()); }

  std::uint32_t read_arrive() noexcept { return enter(state_.head()); }

  bool read_wait(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    Head& h = state_.head();
    // relaxed, here and in the wait: what is decided by it is who goes first. enter() decides who
    // is in.
    h.state.fetch_add(kWaiter, relaxed);
    while (W::until(h.state, relaxed, kSleepers, kOverChannel, deadline, nobody_present)) {
      attempt = enter(h);
      if (attempt < kMustWait) break;
    }
    stop_waiting(h);
    return attempt < kMustWait;
  }
  bool read_withdraw(std::uint32_t) noexcept { return true; }  // it is counted out already
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

  void write_lock() noexcept {
    write_lock([] {});
  }
  // Calls before_drain if it has to wait for readers, when new readers wait behind it already.
  template <class F>
  void write_lock(const F& before_drain) noexcept {
    Head& h = state_.head();
    const std::uint32_t node = P::node();
    Mutex::lock(h.global, State::part(h, node).local);
    h.node.store(node, relaxed);  // the holder's own
    get_in(h, nullptr, before_drain);
  }
  bool write_lock_until(const Deadline* deadline) noexcept {
    Head& h = state_.head();
    for (unsigned round = 0; !try_mutex(h); ++round) {
      if (P::passed(*deadline)) return false;
      if (nobody_present(h.state.load(relaxed))) {  // relaxed, also below: the next round looks
        P::step_aside(round);
      } else if (!W::until(h.state, relaxed, kSleepers, kOverChannel, deadline, nobody_present)) {
        return false;
      }
    }
    if (get_in(h, deadline, [] {})) return true;
    release_writer(h);
    return false;
  }
  bool try_write_lock() noexcept {
    Head& h = state_.head();
    // Look before disturbing: readers are reason enough to fail.
    if (!Readers::none(h) || !try_mutex(h)) return false;
    if ((h.state.load(relaxed) & kTurn) == 0 && appear(h, nullptr) && Readers::none(h)) return true;
    release_writer(h);
    return false;
  }
  void write_unlock() noexcept { release_writer(state_.held()); }

  bool has_readers() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && !Readers::none(*h);
  }
  bool has_writer() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && (h->state.load(acquire) & kPresent) != 0;  // acquire: pairs with leave
  }
  bool too_many_readers() const noexcept {
    Head* const h = state_.peek();
    return h != nullptr && Readers::too_many(*h);
  }
  bool idle() const noexcept {
    Head* const h = state_.peek();
    return h == nullptr || is_idle(*h);
  }

  // --- in a forked child; see rw_contract.h. relaxed: the fork handed on what threads did.
  bool needs_no_repair(bool written) const noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return !written;
    const std::uint32_t node = h->node.load(relaxed);
    bool tidy = h->state.load(relaxed) == (written ? kPresent : 0) &&
                h->global.needs_no_repair(written) && Readers::needs_no_repair(*h, written);
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      tidy = tidy && State::part(*h, i).local.lock.needs_no_repair(written && i == node);
    }
    return tidy;
  }
  // A reader that the fork met between counting itself in and turning back stays counted in, unless
  // a writer's hold stays.
  void repair_after_fork(bool written) noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return;
    Readers::repair_after_fork(*h, written);
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      auto& local = State::part(*h, i).local;
      const bool held = written && i == h->node.load(relaxed);
      local.lock.repair_after_fork(held);
      if (!held) local.kept.store(0, relaxed);
    }
    h->global.repair_after_fork(written);
    h->state.store(written ? kPresent : 0, relaxed);
  }

  // Gets the block now, not when the lock is first used.
  void use() noexcept { state_.head(); }
  void destroy() noexcept { state_.close(is_at_rest); }
  void before_init() noexcept { state_.close_old(is_at_rest); }
  // For side_block.h.
  static bool is_idle(Head& h) noexcept {
    // relaxed: all threads have ended, or the program has ordered their last use.
    return (h.state.load(relaxed) & (kPresent | kTurn)) == 0 && h.state.load(relaxed) < kWaiter &&
           Readers::none(h) && mutex_is_free(h);
  }

 private:
  static constexpr std::uint32_t kPresent = 1;
  static constexpr std::uint32_t kSleepers = 2;  // somebody sleeps until nobody is present
  static constexpr std::uint32_t kWriterParked =
      4;  // the holder of the mutex sleeps until no kTurn
  static constexpr std::uint32_t kTurn = 8;
  static constexpr std::uint32_t kPass = 16;
  static constexpr std::uint32_t kPasses = 0x3f0;
  static constexpr std::uint32_t kWaiter = 0x400;
  static_assert(kWriters != 0 && kWriters * kPass <= kPasses);
  static constexpr std::uint32_t kOverChannel = 1;
  static constexpr std::uint32_t kTurnChannel = 2;

  static constexpr unsigned kMostRounds = 64;         // some 50 ms
  static constexpr std::uint32_t kNoLocalLock = ~0u;  // the holder of the mutex has no local lock

  static bool nobody_present(std::uint32_t v) noexcept { return (v & kPresent) == 0; }

  // --- readers

  // The reader's half of the Dekker pair with appear and drain: count in, then look for a writer.
  // A token, or kMustWait.
  static std::uint32_t enter(Head& h) noexcept {
    const std::uint32_t token = P::node() + 1;
    State::part(h, token - 1).readers.arrive();
    // seq_cst: either the writer sees this arrival, or this reader sees the writer. As an acquire
    // it pairs with leave.
    if (nobody_present(h.state.load(seq_cst))) [[likely]]
      return token;
    return turn_back(h, token);
  }
  [[gnu::noinline]] static std::uint32_t turn_back(Head& h, std::uint32_t token) noexcept {
    Readers::depart(h, token - 1);
    return kMustWait;
  }

  static void stop_waiting(Head& h) noexcept {
    std::uint32_t v = h.state.load(relaxed), next;
    do {
      next = v - kWaiter;
      if (next < kWaiter) next &= ~(kTurn | kPasses | kWriterParked);
      // relaxed: it hands nothing on; the writer goes on to look at the arrivals.
    } while (!h.state.compare_exchange(v, next, relaxed));
    if constexpr (W::kParks) {
      if (((v ^ next) & kWriterParked) != 0) W::wake(&h.state, kTurnChannel);
    }
  }

  // --- writers

  static bool try_mutex(Head& h) noexcept {
    if (!h.global.try_lock()) return false;
    h.node.store(kNoLocalLock, relaxed);  // the holder's own
    return true;
  }

  // With the mutex. False: the deadline has passed.
  template <class F>
  static bool get_in(Head& h, const Deadline* deadline, const F& before_drain) noexcept {
    for (std::uint32_t n = kPatience; n != 0; --n) {
      if (Readers::none(h)) {
        if (!appear(h, deadline)) return false;
        if (Readers::none(h)) return true;
        disappear(h);
      }
      if (!Readers::wait_for_some(h, deadline)) return false;
    }
    return appear(h, deadline) && drain(h, deadline, before_drain);
  }

  // Readers that wait have had their turn, and from now on new ones wait.
  static bool appear(Head& h, const Deadline* deadline) noexcept {
    // relaxed: the writer before comes with the mutex, so kPresent is as it left it.
    for (std::uint32_t v = h.state.load(relaxed); (v & kPresent) == 0; v = h.state.load(relaxed)) {
      if ((v & kTurn) != 0) {
        const auto over = [](std::uint32_t now) { return (now & kTurn) == 0; };
        if (!W::until(h.state, relaxed, kWriterParked, kTurnChannel, deadline, over)) return false;
      } else if (h.state.compare_exchange(v, v | kPresent, seq_cst)) {  // see enter
        break;
      }
    }
    return true;
  }

  // Readers that came meanwhile go first.
  static void disappear(Head& h) noexcept {
    // relaxed: nothing was done; the writers before are in what it continues.
    wake_readers(h, h.state.fetch_and(~(kPresent | kSleepers), relaxed));
  }
  static void wake_readers(Head& h, std::uint32_t before) noexcept {
    if constexpr (W::kParks) {
      if ((before & kSleepers) != 0) W::wake(&h.state, kOverChannel);
    }
  }

  template <class F>
  static bool drain(Head& h, const Deadline* deadline, const F& before_drain) noexcept {
    if (Readers::none(h)) [[likely]]
      return true;
    before_drain();
    return Readers::wait_for_all(h, deadline);
  }

  static void release_writer(Head& h) noexcept {
    const std::uint32_t node = h.node.load(relaxed);
    typename Mutex::Node* const local =
        node == kNoLocalLock ? nullptr : &State::part(h, node).local;
    const bool wanted = Mutex::contended(h.global, local);
    std::uint32_t v = h.state.load(relaxed), next;
    do {
      // relaxed: flags; the compare-exchange finds out what has changed.
      const std::uint32_t passes = v < kWaiter ? 0 : (v & kPasses) + kPass;
      const bool is_turn = passes >= kWriters * kPass;
      next = v & ~kPasses;
      if (!wanted || is_turn || kPatience != 0) next &= ~(kPresent | kSleepers);
      next |= is_turn ? kTurn : passes;
      // release: the critical section; pairs with enter. The next writer gets it with the mutex.
    } while (!h.state.compare_exchange(v, next, release));
    wake_readers(h, v & ~next);
    Mutex::unlock(h.global, local);
  }

  // --- the end

  static bool mutex_is_free(Head& h) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (!State::part(h, i).local.lock.idle()) return false;
    }
    return h.global.idle();
  }
  // At the lock's end. What threads still hold for reading ends with it.
  static bool is_at_rest(Head& h) noexcept {
    if (!nobody_present(h.state.load(relaxed))) return false;  // held for writing
    // Not for ever: a forked child has only one of its parent's threads.
    for (unsigned round = 0; !mutex_is_free(h) && round < kMostRounds; ++round)
      P::step_aside(round);
    Readers::drop(h);
    return is_idle(h);
  }

  State state_;
};

template <class P, class W>
using CohortRw = CohortRwOver<P, W, P::kMostInARow, 0>;
template <class P, class W>
using CohortRwNeutral = CohortRwOver<P, W, 1, 0>;
template <class P, class W>
using CohortRwReaders = CohortRwOver<P, W, 1, P::kMostInARow>;

}  // namespace lockswap
