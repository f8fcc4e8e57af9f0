// eventual: running threads take a free lock, and hand-offs at a limited rate serve the waiters.
//
// common/eventual_word.h has the sources, idea, states and invariants. eventual_queue.h and
//   eventual_head.h have the steps, the fairness and all of the waiting.
// State (8 bytes, zero = free): the word (32 bits: the flags, and 21 bits for the number of queued
//   threads), `wakes`.
// Space: 2^21 waiting threads; further ones yield.
// Destroy is safe: the last access is the compare-exchange of the release; only a wake of the
//   address may follow.
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
  // The model checker has test cases for this, with short timeouts.
  static constexpr bool kRationsHandOffs = true;
  static constexpr LockInfo kInfo{
      .summary =
          "a running thread may take a free lock before waiters; hand-offs bound how long they "
          "wait",
      .source = "eventual fairness as in WebKit's WTF::Lock and parking_lot",
      .fairness = "barging; the oldest waiter is next after LOCKSWAP_HANDOVER_US",
      .takes_back = true,
      .instructions = 52,
  };

  static bool prepare() noexcept { return true; }
};

}  // namespace lockswap
