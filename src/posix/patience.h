// How long an acquisition may take, and what it returns when that was too long.
#pragma once

#include <cerrno>

#include "locks/common/events.h"
#include "platform/clock.h"

namespace lockswap {

struct Patience {
  bool only_try = false;
  const Deadline* deadline = nullptr;  // nullptr if there is none
};

// The errno of a try form that failed, and of a timed form whose deadline passed.
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
