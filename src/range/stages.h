// An acquisition and a release of a range, by the stages that the lock has.
#pragma once

#include "range/concept.h"
#include "range/request.h"

namespace lockswap {

// 0: the range is held, by `out`, which else stays what it was. EBUSY (only_try), ETIMEDOUT,
// ENOMEM; EDEADLK: the thread holds a range itself that is in the way.
template <RangeLock Lock>
int acquire_range(Lock& lock, const RangeRequest& r, RangeOptions options,
                  typename Lock::Node*& out) noexcept {
  if constexpr (FastRangeLock<Lock>) {
    if (lock.acquire_alone(r.start, r.end, r.shared, out)) return 0;
  }
  return lock.acquire_slowly(r, options, out);
}

// Called by the thread that acquired it. The lock may be gone after the range has become free.
template <RangeLock Lock>
void release_range(Lock& lock, typename Lock::Node* node) noexcept {
  if constexpr (FastRangeLock<Lock>) {
    if (lock.release_alone(node)) return;
  }
  lock.release_slowly(node);
}

}  // namespace lockswap
