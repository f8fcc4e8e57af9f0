// cohort: the cohort mutex of C-RW-WP by itself: ticket locks for the nodes and between them.
//
// Paper: D. Dice, V. Marathe, N. Shavit, "Lock cohorting: a general technique for designing NUMA
//   locks" (PPoPP 2012), section 3, C-TKT-TKT. It is the writers' lock in I. Calciu, D. Dice, Y.
//   Lev, V. Luchangco, V. Marathe, N. Shavit, "NUMA-aware reader-writer locks" (PPoPP 2013).
// Idea: cohorting.h's.
// State (8 bytes, zero = free): a pointer to a block beside the object (side_block.h). The block:
// for
//   each node the local lock; in the head the global one, and 1 + the node of the holder, or
//   kNoLocalLock.
// Invariants: `node` is written by the holder alone; 0: nobody holds the lock.
// Fairness: as cohorting.h, with ticket locks: first come, first served in a node, and between
//   nodes.
//   Timed locks only when no node waits.
// Space: 128 bytes a node, and 256.
// Deviations: none.
// Destroy is safe as it is in cohorting.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/cohorting.h"
#include "locks/common/lock_info.h"
#include "locks/common/side_block.h"
#include "locks/mutex/ticket.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

// Two lines each: processors fetch them in pairs.
template <class P, class Global>
struct alignas(128) CohortMutexHead {
  typename P::template atomic<std::uint32_t> link;
  typename P::template atomic<std::uint32_t> node;
  typename P::template atomic<std::uint64_t> owner;
  alignas(128) Global global;
};
template <class Local>
struct alignas(128) CohortMutexPart {
  Local local;
};

template <class P, class W>
class CohortMutex {
  using Mutex = Cohorting<P, Ticket<P, W>, Ticket<P, W>, P::kMostInARow>;
  using Head = CohortMutexHead<P, Ticket<P, W>>;
  using Part = CohortMutexPart<typename Mutex::Node>;
  using State = SideBlock<P, CohortMutex, Head, Part>;
  using Blocks = typename State::Blocks;

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
      .instructions = 165,
  };

  static bool prepare() noexcept {
    P::prepare_topology();
    return Blocks::prepare(P::node_count());
  }
  // Beside the object; on this machine.
  static std::size_t block_bytes() noexcept { return Blocks::bytes_with(P::node_count()); }

  void lock() noexcept {
    Head& h = state_.head();
    const std::uint32_t node = P::node();
    Mutex::lock(h.global, local(h, node));
    h.node.store(node + 1, relaxed);  // the holder's own
  }
  // It has no hot path: lock_begin leaves everything to lock.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  std::uint64_t lock_begin() noexcept {
    lock();
    return 0;
  }
  static void lock_rest(std::uint64_t) noexcept {}

  bool lock_until(const Deadline* deadline) noexcept {
    Head& h = state_.head();
    if (!h.global.lock_until(deadline)) return false;
    h.node.store(kNoLocalLock, relaxed);  // as in lock
    return true;
  }
  bool try_lock() noexcept {
    Head& h = state_.head();
    if (!h.global.try_lock()) return false;
    h.node.store(kNoLocalLock, relaxed);  // as in lock
    return true;
  }

  // Of a lock that nobody holds: nothing, as glibc's mutex.
  void unlock() noexcept {
    Head* const h = state_.peek();
    const std::uint32_t node = h == nullptr ? 0 : h->node.load(relaxed);  // as in lock
    if (node == 0) [[unlikely]]
      return;
    h->node.store(0, relaxed);  // before the release that hands the lock on
    Mutex::unlock(h->global, node == kNoLocalLock ? nullptr : &local(*h, node - 1));
  }
  std::uint32_t unlock_begin() noexcept {
    unlock();
    return 0;
  }
  static void unlock_rest(std::uint32_t) noexcept {}

  bool idle() const noexcept {
    Head* const h = state_.peek();
    return h == nullptr || is_idle(*h);
  }

  // --- in a forked child; see mutex_contract.h. relaxed: the fork handed on what threads did.
  // True: it is free, or held if `held`, and nothing else.
  bool needs_no_repair(bool held) const noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return !held;
    const std::uint32_t node = h->node.load(relaxed);
    bool tidy = (node != 0) == held && h->global.needs_no_repair(held);
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      tidy = tidy && local(*h, i).lock.needs_no_repair(held && i + 1 == node);
    return tidy;
  }
  // Drops who waits, and the holder, if it is not to stay.
  void repair_after_fork(bool held) noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return;
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      const bool mine = held && i + 1 == h->node.load(relaxed);
      local(*h, i).lock.repair_after_fork(mine);
      if (!mine) local(*h, i).kept.store(0, relaxed);
    }
    h->global.repair_after_fork(held);
    if (!held) h->node.store(0, relaxed);
  }

  // Gets the block now, not when the lock is first used.
  void use() noexcept { state_.head(); }
  // The object ends; nobody holds the lock.
  void destroy() noexcept { state_.close(is_idle); }
  void before_init() noexcept { state_.close_old(is_idle); }
  // For side_block.h.
  static bool is_idle(Head& h) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (!local(h, i).lock.idle()) return false;
    }
    return h.global.idle();
  }

 private:
  static constexpr std::uint32_t kNoLocalLock = ~0u;  // the holder has no local lock

  static typename Mutex::Node& local(Head& h, std::uint32_t node) noexcept {
    return State::part(h, node).local;
  }

  State state_;
};

}  // namespace lockswap
