// Acquires and releases a range by whichever stages the lock has.
#pragma once

#include "range/concept.h"
#include "range/request.h"

namespace lockswap {

// Returns 0 if the range is now held by the node `out`, which is otherwise unchanged. The errors
// are EBUSY (only_try), ETIMEDOUT, ENOMEM, and EDEADLK if another range of the same thread is in
// the way.
template <RangeLock Lock>
int acquire_range(Lock& lock, const RangeRequest& r, RangeOptions options,
                  typename Lock::Node*& out) noexcept {
  if constexpr (FastRangeLock<Lock>) {
    if (lock.acquire_alone(r.start, r.end, r.shared, out)) return 0;
  }
  return lock.acquire_slowly(r, options, out);
}

// Called by the thread that acquired the range. The lock may be gone as soon as the range is free.
template <RangeLock Lock>
void release_range(Lock& lock, typename Lock::Node* node) noexcept {
  if constexpr (FastRangeLock<Lock>) {
    if (lock.release_alone(node)) return;
  }
  lock.release_slowly(node);
}

}  // namespace lockswap
