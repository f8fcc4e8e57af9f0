// Timed acquisition of a lock that belongs to another process (adoption.h, step 2). The threads
// there may wait in queues whose nodes this process can't reach. So threads here must not join
// those queues, and poll the lock instead.
#pragma once

#include <cerrno>

#include "locks/common/events.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/function_ref.h"
#include "posix/patience.h"

namespace lockswap {

// Returns false if the deadline has passed.
template <Platform P>
[[gnu::noinline]] bool poll_until(const Deadline& deadline, FunctionRef<bool()> try_lock) noexcept {
  for (unsigned round = 0; !try_lock(); ++round) {
    if (P::passed(deadline)) return false;
    P::step_aside(round);
  }
  return true;
}

// The same for a try that returns 0 or an errno. `lock` is the address for the statistics.
template <Platform P, EventCounter Count, class Try>
int poll_result(const void* lock, const Deadline& deadline, const Try& try_lock) noexcept {
  int result = EBUSY;
  const auto is_decided = [&] { return (result = try_lock()) != EBUSY; };
  return poll_until<P>(deadline, is_decided) ? result : timed_out<Count>(lock);
}

}  // namespace lockswap
