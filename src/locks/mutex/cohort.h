// cohort: the cohort mutex of C-RW-WP on its own, made of a ticket lock for each node and a global
// one.
//
// Paper: D. Dice, V. Marathe, N. Shavit, "Lock cohorting: a general technique for designing NUMA
//   locks" (PPoPP 2012), section 3, C-TKT-TKT. It is the writers' lock in I. Calciu, D. Dice, Y.
//   Lev, V. Luchangco, V. Marathe, N. Shavit, "NUMA-aware reader-writer locks" (PPoPP 2013).
// Idea: see cohorting.h.
// State (8 bytes, zero = free): a pointer to a block next to the object (side_block.h). The block
//   has a local lock for each node. Its head has the global lock, and `node`: 1 + the holder's
//   node, or kNoLocalLock.
// Invariants: only the holder writes `node`, which is 0 if nobody holds the lock.
// Fairness: as in cohorting.h, with ticket locks: first come, first served in a node and between
//   nodes. A timed acquisition succeeds only when no node waits.
// Space: 128 bytes per node and 256 more.
// Deviations: none.
// Destroy is safe as it is in cohorting.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/cohorting.h"
#include "locks/common/lock_info.h"
#include "locks/common/side_block.h"
#include "locks/common/ticket_lock.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// Each takes two cache lines, because processors fetch lines in pairs.
template <Platform P, class Global>
struct alignas(128) CohortMutexHead : BlockStart<P> {
  typename P::template atomic<std::uint32_t> node;
  alignas(128) Global global;
};
template <class Local>
struct alignas(128) CohortMutexPart {
  Local local;
};

template <Platform P, WaitPolicy<P> W>
using CohortTickets = Cohorting<P, TicketLock<P, W>, TicketLock<P, W>, P::kMostInARow>;

template <Platform P, WaitPolicy<P> W>
class CohortMutex : public BlockLock<P, CohortMutex<P, W>, PartsPer::node> {
  using Base = BlockLock<P, CohortMutex, PartsPer::node>;
  friend Base;
  using Mutex = CohortTickets<P, W>;
  using Head = CohortMutexHead<P, TicketLock<P, W>>;
  using Part = CohortMutexPart<typename Mutex::Node>;
  using State = SideBlock<P, CohortMutex, Head, Part>;

 public:
  static constexpr Claims kClaims{};
  static constexpr LockInfo kInfo{
      .summary =
          "NUMA-aware mutex: a ticket lock for each node, and one between them; the mutex of "
          "C-RW-WP",
      .source = "Dice, Marathe and Shavit 2012, section 3; Calciu and others 2013, section 3.3",
      .fairness =
          "first come first served in a node, which may keep it for some turns; timed locks only "
          "when nobody waits",
      .aliases = {"C-TKT-TKT"},
      .instructions = 155,
  };

  static bool prepare() noexcept { return Base::prepare_blocks(); }

  void lock() noexcept {
    Head& h = state_.head();
    const std::uint32_t node = P::node();
    Mutex::lock(h.global, local(h, node));
    own(h, node + 1);
  }
  bool lock_until(const Deadline* deadline) noexcept {
    Head& h = state_.head();
    if (!h.global.lock_until(deadline)) return false;
    own(h, kNoLocalLock);
    return true;
  }
  bool try_lock() noexcept {
    Head& h = state_.head();
    if (!h.global.try_lock()) return false;
    own(h, kNoLocalLock);
    return true;
  }

  // Does nothing if nobody holds the lock, as in glibc.
  void unlock() noexcept {
    Head* const h = state_.peek();
    const std::uint32_t node = h == nullptr ? 0 : h->node.load(relaxed);  // as in own
    if (node == 0) [[unlikely]]
      return;
    h->node.store(0, relaxed);  // before the release that passes the lock on
    Mutex::unlock(h->global, node == kNoLocalLock ? nullptr : &local(*h, node - 1));
  }

  // --- in a forked child (LockCore). relaxed: fork() orders what threads did.
  bool needs_no_repair(bool held) const noexcept {
    Head* const h = state_.find();
    if (h == nullptr) return !held;
    const std::uint32_t node = h->node.load(relaxed);
    return (node != 0) == held && h->global.needs_no_repair(held) &&
           State::each_part(*h, [held, node](Part& part, std::uint32_t i) {
             return part.local.lock.needs_no_repair(held && i + 1 == node);
           });
  }
  void repair_after_fork(bool held) noexcept {
    Head* const h = state_.find();
    if (h == nullptr) return;
    const std::uint32_t node = h->node.load(relaxed);
    State::each_part(*h, [held, node](Part& part, std::uint32_t i) {
      part.local.repair_after_fork(held && i + 1 == node);
      return true;
    });
    h->global.repair_after_fork(held);
    if (!held) h->node.store(0, relaxed);
  }

  // For side_block.h.
  static bool is_idle(Head& h) noexcept {
    return State::each_part(h, [](Part& part, std::uint32_t) { return part.local.lock.idle(); }) &&
           h.global.idle();
  }

 private:
  static constexpr std::uint32_t kNoLocalLock = ~0u;  // the holder has no local lock

  // Called by the thread that has the lock now.
  static void own(Head& h, std::uint32_t node) noexcept {
    P::check([&h] { return h.node.load(relaxed) == 0; });
    h.node.store(node, relaxed);  // the holder's own
  }
  static typename Mutex::Node& local(Head& h, std::uint32_t node) noexcept {
    return State::part(h, node).local;
  }

  State state_;
};

}  // namespace lockswap
