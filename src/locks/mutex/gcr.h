// gcr-NAME: the mutex NAME under concurrency restriction.
//
// Paper, idea, liveness, deviations: common/lanes.h.
// State (8 bytes, zero = free): a pointer to the block of lanes.h, with the underlying mutex.
// Invariants: those of lanes.h.
// Fairness: that of the underlying mutex for threads in its queue, which they reach through their
//   lanes.
// Space: as in lanes.h.
// Destroy is safe as it is in lanes.h.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lanes.h"
#include "locks/common/lock_info.h"
#include "locks/concept.h"
#include "locks/mutex/clh.h"
#include "locks/mutex/cohort.h"
#include "locks/mutex/mcs.h"
#include "locks/mutex/per-cpu.h"
#include "locks/mutex/ticket.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W, MutexCore Lock>
class GcrMutex : public Lanes<P, W, Lock, GcrMutex<P, W, Lock>> {
  using Base = Lanes<P, W, Lock, GcrMutex>;
  friend typename Base::Base;
  using Base::state_;
  using typename Base::Head, typename Base::Pass;

 public:
  static constexpr Claims kClaims{};
  // The lanes ration hand-offs. The model checker's test cases cover this, with short timeouts.
  static constexpr bool kRationsHandOffs = true;
  static constexpr LockInfo kInfo = gcr_info(Lock::kInfo, Lock::kInfo.instructions + 47);

  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  bool lock_until(const Deadline* deadline) noexcept {
    Head& h = state_.head();
    if (h.lock.try_lock()) return true;
    if (P::passed(*deadline)) return false;
    const Pass pass(h, deadline);
    return h.lock.lock_until(deadline);
  }
  bool try_lock() noexcept { return state_.head().lock.try_lock(); }

  // Does nothing if nobody holds the lock, as in glibc.
  void unlock() noexcept {
    if (Head* const h = state_.peek(); h != nullptr) [[likely]]
      h->lock.unlock();
  }

 private:
  // Finds the head once more, so that the hot path need not keep it in a register.
  [[gnu::noinline]] void wait() noexcept {
    Head& h = state_.head();
    const Pass pass(h, nullptr);
    h.lock.lock();
  }
};

template <Platform P, LineWaitPolicy<P> W>
using GcrTicket = GcrMutex<P, W, Ticket<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrMcs = GcrMutex<P, W, Mcs<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrClh = GcrMutex<P, W, Clh<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrCohortMutex = GcrMutex<P, W, CohortMutex<P, W>>;
template <Platform P, LineWaitPolicy<P> W>
using GcrPerCpuMutex = GcrMutex<P, W, PerCpuMutex<P, W>>;

}  // namespace lockswap
