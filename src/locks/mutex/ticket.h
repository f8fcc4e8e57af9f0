// ticket: the ticket lock (common/ticket_lock.h has all of it) as a mutex.
#pragma once

#include "locks/common/claims.h"
#include "locks/common/ticket_lock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Ticket : public TicketLock<P, W> {
 public:
  static constexpr Claims kClaims{.fifo_writers = true};

  static bool prepare() noexcept { return true; }
};

}  // namespace lockswap
