// ticket: the ticket lock (common/ticket_lock.h has all of it) as a mutex.
#pragma once

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/common/ticket_lock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

inline constexpr const char* kTicketFairness =
    "first come first served; timed locks only when nobody waits";

template <Platform P, WaitPolicy<P> W>
class Ticket : public TicketLock<P, W, true> {
 public:
  static constexpr Claims kClaims{.fifo_writers = true};
  static constexpr LockInfo kInfo{
      .summary = "FIFO: each thread takes a ticket and waits for its turn",
      .source = "Mellor-Crummey and Scott 1991, section 2.2",
      .fairness = kTicketFairness,
      .instructions = 68,
  };

  static bool prepare() noexcept { return true; }
};

// This lock under the name of the rwlock rlu, which is a ticket lock if every thread writes.
inline constexpr LockInfo kRluAsMutex{
    .summary = "the lock of RLU's writers, a ticket lock",
    .source = "Matveev and others 2015, section 3.5",
    .fairness = kTicketFairness,
    .aliases = {"RLU-backed"},
    .instructions = 68,
};

}  // namespace lockswap
