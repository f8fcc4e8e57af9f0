// Semaphores, barriers and joins: what threads wait at beside locks. Nobody holds these; a wait is
// charged to the thread that posts, that arrives last, that ends.
#pragma once

#include "platform/system_waits.h"

namespace lockswap::profile {

struct Thread;

// Once, at start-up.
WaitOps over_waits(const WaitOps& behind) noexcept;

// At the end of a thread that takes locks, for those that wait to join it.
void announce_end(Thread& t) noexcept;

}  // namespace lockswap::profile
