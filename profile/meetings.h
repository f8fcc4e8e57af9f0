// Semaphores, barriers and joins: what threads wait at besides locks. Nobody holds these. A wait is
// charged to the thread that posts, arrives last, or ends.
#pragma once

#include "platform/system_waits.h"

namespace lockswap::profile {

struct Thread;

// May be called once, at start-up.
WaitOps over_waits(const WaitOps& behind) noexcept;

// Called at the end of a thread that takes locks, for threads that wait to join it.
void announce_end(Thread& t) noexcept;

}  // namespace lockswap::profile
