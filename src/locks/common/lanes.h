// Concurrency restriction: of the threads that wait for a lock, about as many as there are
// processors wait in the lock's own queue, and the others wait outside. What mutex/gcr.h and
// rw/gcr.h have in common.
//
// Paper: D. Dice, A. Kogan, "Avoiding scalability collapse by restricting concurrency" (Euro-Par
//   2019): GCR, a layer over any lock, with an active set and passive threads.
// Why: a lock with a queue hands itself to the thread that is next. If more threads wait than there
//   are processors, that one is asleep or preempted, so each turn takes as long as a thread needs
//   to wake up.
// Idea: next to the lock there is a lane for each processor, an eventual lock (eventual_lock.h).
//   A thread that finds the lock busy passes the lane of the processor that it runs on, and keeps
//   that until it has the lock. So one thread a lane is active, and the rest of the lane is
//   passive. A running thread may take a free lane past those that sleep there, so the same few
//   threads go round while they run; and a lane is handed to the oldest of its sleepers once in
//   LOCKSWAP_HANDOVER_US, so the sets change.
// State: in the object a pointer to a block (side_block.h). The block: the underlying lock, in the
//   head, and a lane for each CPU.
// Invariants: a thread has at most one lane of a lock, and holds none when it has that lock, or has
//   timed out. So no thread waits for a lane while it keeps others from the lock, unless it holds
//   the lock already. (No P::check: no state records it. A lane belongs to a Pass, which is a local
//   variable of the acquiring function.)
// Fairness: that of the underlying lock for the threads in its queue, and eventual_queue.h's in
//   each lane. A thread that finds the underlying lock free takes it ahead of passive ones.
// Liveness: a thread that has waited for P::take_back() in a lane goes on without it. So a thread
//   that was preempted on its way from the lane into the queue delays others for that long at most;
//   and a reader whose patience is over, and which another one in the lock may wait for, does the
//   same.
// Deviations: the paper counts the threads that have the lock, too, and moves one into the active
//   set when the set is empty, or at every N-th release. Here a release is the lock's own, and the
//   holder no longer counts; sets are by processor, and change by time.
// Space: 128 bytes a CPU, and 256 with the underlying lock; and that one's block, if it has one.
// Destroy is safe where it is in the underlying lock: a thread leaves its lane before it returns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/eventual_lock.h"
#include "locks/common/lock_info.h"
#include "locks/common/side_block.h"
#include "locks/concept.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// The description of a lock under restriction, made from that of the underlying lock.
constexpr LockInfo gcr_info(const LockInfo& below, unsigned instructions) {
  return {
      .summary =
          "concurrency restriction: about one waiter per processor competes, the others wait aside",
      .source = "Dice and Kogan, Avoiding Scalability Collapse by Restricting Concurrency, 2019",
      .fairness =
          "as without gcr among those that compete; those aside are let in at a limited rate",
      .kinds = below.kinds,
      .readers_overtake = true,
      .writers_can_starve = below.writers_can_starve,
      .instructions = instructions};
}

// Each takes two cache lines, because processors fetch lines in pairs.
template <Platform P, class Lock>
struct alignas(128) LanesHead : BlockStart<P> {
  alignas(128) Lock lock;
};
template <Platform P, LineWaitPolicy<P> W>
struct alignas(128) Lane {
  EventualLock<P, W, EventualLaneWord> gate;
};

// Lock: the underlying one. User: the lock built on this, a HasSideBlock whose friend is this
// class's Base.
template <Platform P, LineWaitPolicy<P> W, class Lock, class User,
          KnownBy kKnown = KnownBy::contract>
class Lanes : public BlockLock<P, User, PartsPer::cpu> {
 protected:
  using Base = BlockLock<P, User, PartsPer::cpu>;
  using Head = LanesHead<P, Lock>;
  using State = SideBlock<P, User, Head, Lane<P, W>, kKnown>;

 public:
  static bool prepare() noexcept { return Lock::prepare() && Base::prepare_blocks(); }
  static std::size_t block_bytes() noexcept {
    if constexpr (BlockCore<Lock>) {
      return Base::block_bytes() + Lock::block_bytes();
    } else {
      return Base::block_bytes();
    }
  }
  void use() noexcept {
    [[maybe_unused]] Head& h = state_.head();
    if constexpr (BlockCore<Lock>) h.lock.use();
  }

  // --- in a forked child (LockCore): the thread that forked has the lock or not, but no lane.
  bool needs_no_repair(bool held) const noexcept {
    Head* const h = state_.find();
    if (h == nullptr) return !held;
    return h->lock.needs_no_repair(held) &&
           State::each_part(*h, [](Lane<P, W>& lane, std::uint32_t) {
             return lane.gate.needs_no_repair(false);
           });
  }
  void repair_after_fork(bool held) noexcept {
    Head* const h = state_.find();
    if (h == nullptr) return;
    State::each_part(*h, [](Lane<P, W>& lane, std::uint32_t) {
      lane.gate.repair_after_fork(false);
      return true;
    });
    h->lock.repair_after_fork(held);
  }

  // For side_block.h.
  static bool is_idle(Head& h) noexcept {
    const auto nobody = [](Lane<P, W>& lane, std::uint32_t) { return lane.gate.idle(); };
    return State::each_part(h, nobody) && h.lock.idle();
  }

 protected:
  // The lane that a waiting thread has passed, which it leaves when it has the lock or times out.
  class Pass {
   public:
    // A null deadline means none.
    Pass(Head& h, const Deadline* deadline) noexcept : lane_(&State::part(h, P::cpu())) {
      if (lane_->gate.fast_lock() == 0) return;
      // A point in time, because the lane begins to wait more than once.
      const Deadline soon = P::due(within(deadline, P::take_back()));
      if (!lane_->gate.lock_until(&soon)) lane_ = nullptr;
    }
    ~Pass() {
      if (lane_ != nullptr) lane_->gate.unlock();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Lane<P, W>* lane_;
  };

  State state_;
};

}  // namespace lockswap
