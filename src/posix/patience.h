// How long an acquisition may take, and the error that it returns if it took longer.
#pragma once

#include <cerrno>

#include "locks/common/events.h"
#include "platform/clock.h"

namespace lockswap {

struct Patience {
  bool only_try = false;
  const Deadline* deadline = nullptr;  // nullptr if there is none
};

// Return the errno of a try form that failed, or of a timed form whose deadline has passed.
template <EventCounter Count>
int busy(const void* lock) noexcept {
  Count::on(lock, Event::failed_try);
  return EBUSY;
}
template <EventCounter Count>
int timed_out(const void* lock) noexcept {
  Count::on(lock, Event::timeout);
  return ETIMEDOUT;
}

}  // namespace lockswap
