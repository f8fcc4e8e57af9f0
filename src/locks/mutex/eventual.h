// eventual: a running thread takes a free lock, and threads that wait get it by rationed hand-offs.
//
// Sources, idea, steps, fairness: common/eventual_line.h, which has all of what waits.
// State (8 bytes, zero = free): the line's word (32 bits: its flags, 21 bits for the number of
//   those that wait in the line), `calls`.
// Invariants: the line's.
// Space: 2^21 waiting threads; more of them yield.
// Deviations: none from the line.
// Destroy is safe: the last access is the compare-exchange of the release; what may follow is a
//   wake of the address.
#pragma once

#include "locks/common/claims.h"
#include "locks/common/eventual_lock.h"
#include "locks/common/lock_info.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W>
class EventualMutex : public EventualLock<P, W> {
 public:
  static constexpr Claims kClaims{.sleepers_in_order = true};
  // Exploration has cases for that, in which its times are short.
  static constexpr bool kRationsHandOffs = true;
  static constexpr LockInfo kInfo{
      .summary = "a running thread takes a free lock; waiters get it by rationed hand-offs",
      .source = "eventual fairness as in WebKit's WTF::Lock and parking_lot",
      .fairness = "barging; the oldest waiter is next after LOCKSWAP_HANDOVER_US",
      .takes_back = true,
      .instructions = 52,
  };

  static bool prepare() noexcept { return true; }
};

}  // namespace lockswap
