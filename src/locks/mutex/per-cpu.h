// per-cpu: one MCS lock per possible CPU. A thread holds the mutex when it holds all of them, as
// the writer of a per-CPU reader-writer lock does.
//
// Paper: D. Dice, A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019),
//   sections 2 and 5 (Per-CPU); PF-Q's queue of writers is an MCS lock.
// Idea: a thread that wants the mutex takes all locks in order, and once it has the first one, the
//   others are free. It is here for comparison, since as a mutex it always costs more than one of
//   its locks.
// State (8 bytes, zero = free): a pointer to a block next to the object (side_block.h). The block
//   contains the locks and a flag for whether they are held.
// Invariants: only the holder writes `held`.
// Fairness: mcs.h's, once the mutex has its block.
// Space: 128 bytes per CPU and 128 more; the holder has a queue node per CPU.
// Deviations: none.
// Destroy is safe: the first lock, for which the others wait, is released last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/common/side_block.h"
#include "locks/mutex/mcs.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// Each takes two cache lines, because processors fetch lines in pairs.
template <Platform P>
struct alignas(128) PerCpuMutexHead : BlockStart<P> {
  typename P::template atomic<std::uint32_t> held;
};
template <class Lock>
struct alignas(128) PerCpuMutexPart {
  Lock lock;
};

template <Platform P, WaitPolicy<P> W>
class PerCpuMutex : public BlockLock<P, PerCpuMutex<P, W>, PartsPer::cpu> {
  using Base = BlockLock<P, PerCpuMutex, PartsPer::cpu>;
  friend Base;
  using Head = PerCpuMutexHead<P>;
  using Part = PerCpuMutexPart<Mcs<P, W>>;
  using State = SideBlock<P, PerCpuMutex, Head, Part>;
  using Blocks = typename State::Blocks;

 public:
  static constexpr Claims kClaims = Mcs<P, W>::kClaims;
  static constexpr LockInfo kInfo{
      .summary =
          "an MCS lock for each CPU; each owner takes all of them, as a writer of the per-cpu "
          "rwlock does",
      .source = "Dice and Kogan 2019, sections 2 and 5, Per-CPU",
      .fairness = Mcs<P, W>::kInfo.fairness,
      .aliases = {"PerCPU"},
      .instructions = 240,
  };

  static bool prepare() noexcept { return Mcs<P, W>::prepare() && Base::prepare_blocks(); }

  void lock() noexcept {
    take_all([](Mcs<P, W>& lock) {
      lock.lock();
      return true;
    });
  }
  bool lock_until(const Deadline* deadline) noexcept {
    return take_all([deadline](Mcs<P, W>& lock) { return lock.lock_until(deadline); });
  }
  bool try_lock() noexcept {
    return take_all([](Mcs<P, W>& lock) { return lock.try_lock(); });
  }

  // Does nothing if nobody holds the lock, as in glibc.
  void unlock() noexcept {
    Head* const h = state_.peek();
    if (h == nullptr || h->held.load(relaxed) == 0) [[unlikely]]  // as in take_all
      return;
    h->held.store(0, relaxed);  // before the release that passes the lock on
    release_first(*h, Blocks::parts());
  }

  // --- in a forked child (LockCore). relaxed: fork() orders what threads did.
  bool needs_no_repair(bool held) const noexcept {
    Head* const h = state_.find();
    if (h == nullptr) return !held;
    return (h->held.load(relaxed) != 0) == held &&
           State::each_part(
               *h, [held](Part& part, std::uint32_t) { return part.lock.needs_no_repair(held); });
  }
  void repair_after_fork(bool held) noexcept {
    Head* const h = state_.find();
    if (h == nullptr) return;
    State::each_part(*h, [held](Part& part, std::uint32_t) {
      part.lock.repair_after_fork(held);
      return true;
    });
    if (!held) h->held.store(0, relaxed);
  }

  // For side_block.h.
  static bool is_idle(Head& h) noexcept {
    return State::each_part(h, [](Part& part, std::uint32_t) { return part.lock.idle(); });
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
    P::check([&h] { return h.held.load(relaxed) == 0; });
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
