// per-cpu: an MCS lock for each possible CPU, all of which make one mutex: what writers do in a
// per-CPU reader-writer lock.
//
// Paper: D. Dice, A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019),
//   sections 2 and 5 (Per-CPU); PF-Q's queue of writers is an MCS lock.
// Idea: who wants the mutex takes them all, in order. Whoever has the first finds the others free.
//   It is here for comparison: as a mutex it can only cost more than one of its locks.
// State (8 bytes, zero = free): a pointer to a block beside the object (side_block.h). The block:
// the
//   locks, and whether somebody holds them.
// Invariants: `held` is written by the holder alone.
// Fairness: mcs.h's, once it has its block.
// Space: 128 bytes a CPU, and 128; the holder has a queue node a CPU.
// Deviations: none.
// Destroy is safe: the first lock, where others wait, is released last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/common/side_block.h"
#include "locks/mutex/mcs.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

// Two lines each: processors fetch them in pairs.
template <class P>
struct alignas(128) PerCpuMutexHead {
  typename P::template atomic<std::uint32_t> link;
  typename P::template atomic<std::uint32_t> held;
  typename P::template atomic<std::uint64_t> owner;
};
template <class Lock>
struct alignas(128) PerCpuMutexPart {
  Lock lock;
};

template <class P, class W>
class PerCpuMutex {
  using Head = PerCpuMutexHead<P>;
  using Part = PerCpuMutexPart<Mcs<P, W>>;
  using State = SideBlock<P, PerCpuMutex, Head, Part>;
  using Blocks = typename State::Blocks;

 public:
  static constexpr Claims kClaims = Mcs<P, W>::kClaims;
  static constexpr LockInfo kInfo{
      .summary =
          "an MCS lock for each CPU, of which each owner takes all, as writers of a per-CPU lock "
          "do",
      .source = "Dice and Kogan 2019, sections 2 and 5, Per-CPU",
      .fairness = "first come first served",
      .aliases = {"PerCPU"},
      .instructions = 225,
  };

  static bool prepare() noexcept {
    P::prepare_topology();
    return Mcs<P, W>::prepare() && Blocks::prepare(P::cpus());
  }
  // Beside the object; on this machine.
  static std::size_t block_bytes() noexcept { return Blocks::bytes_with(P::cpus()); }

  void lock() noexcept {
    take_all([](Mcs<P, W>& lock) {
      lock.lock();
      return true;
    });
  }
  // It has no hot path: lock_begin leaves everything to lock.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  std::uint64_t lock_begin() noexcept {
    lock();
    return 0;
  }
  static void lock_rest(std::uint64_t) noexcept {}

  bool lock_until(const Deadline* deadline) noexcept {
    return take_all([deadline](Mcs<P, W>& lock) { return lock.lock_until(deadline); });
  }
  bool try_lock() noexcept {
    return take_all([](Mcs<P, W>& lock) { return lock.try_lock(); });
  }

  // Of a lock that nobody holds: nothing, as glibc's mutex.
  void unlock() noexcept {
    Head* const h = state_.peek();
    if (h == nullptr || h->held.load(relaxed) == 0) [[unlikely]]  // as in take_all
      return;
    h->held.store(0, relaxed);  // before the release that hands the lock on
    release_first(*h, Blocks::parts());
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
    bool tidy = (h->held.load(relaxed) != 0) == held;
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      tidy = tidy && State::part(*h, i).lock.needs_no_repair(held);
    return tidy;
  }
  // Drops who waits, and the holder, if it is not to stay.
  void repair_after_fork(bool held) noexcept {
    Head* const h = state_.peek();
    if (h == nullptr) return;
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      State::part(*h, i).lock.repair_after_fork(held);
    if (!held) h->held.store(0, relaxed);
  }

  // Gets the block now, not when the lock is first used.
  void use() noexcept { state_.head(); }
  // The object ends; nobody holds the lock.
  void destroy() noexcept { state_.close(is_idle); }
  void before_init() noexcept { state_.close_old(is_idle); }
  // For side_block.h.
  static bool is_idle(Head& h) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (!State::part(h, i).lock.idle()) return false;
    }
    return true;
  }

 private:
  template <class Take>
  bool take_all(const Take& take) noexcept {
    Head& h = state_.head();
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (!take(State::part(h, i).lock)) {
        release_first(h, i);
        return false;
      }
    }
    h.held.store(1, relaxed);  // the holder's own
    return true;
  }
  static void release_first(Head& h, std::uint32_t taken) noexcept {
    while (taken-- != 0)
      State::part(h, taken).lock.unlock();
  }

  State state_;
};

}  // namespace lockswap
