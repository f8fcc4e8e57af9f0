// Passes what the calling thread did at an eventual lock or a lane (platform/wait_events.h) to the
// statistics.
#pragma once

#include <cstdint>
#include <utility>

#include "locks/common/events.h"
#include "platform/concept.h"
#include "platform/wait_events.h"

namespace lockswap {

// Called at the end of a stage that may have been a slow one. Uses only the lock's address, because
// the lock may be gone. A signal handler that counts before this call takes these events for its
// own lock's.
template <Platform P, EventCounter Count, Event kHandOff = Event::hand_off, Event kNap = Event::nap>
void count_waits([[maybe_unused]] const void* lock) noexcept {
  if (Count::is_on()) {
    WaitEvents& events = P::template local<WaitEvents>();
    if (const std::uint32_t n = std::exchange(events.hand_offs, 0); n != 0)
      Count::on(lock, kHandOff, n);
    if (const std::uint32_t n = std::exchange(events.phases, 0); n != 0)
      Count::on(lock, Event::phase, n);
    if (const std::uint32_t n = std::exchange(events.backoffs, 0); n != 0) Count::on(lock, kNap, n);
  }
}

}  // namespace lockswap
