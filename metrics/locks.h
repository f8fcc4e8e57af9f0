// The functions of mutexes and reader-writer locks, counted for LOCKSWAP_METRICS.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap::metrics {

// The locks behind, and what is to be counted.
struct Choice {
  bool has_glibcs;  // some or all of its locks are glibc's
  bool counts_holds;
};
// Returns functions that count and then call `behind`.
MutexOps over_mutex(const MutexOps& behind, Choice choice) noexcept;
RwOps over_rwlock(const RwOps& behind, Choice choice) noexcept;
// Needed only for timing holds: a thread that waits for a condition has released its mutex.
CondOps over_cond(const CondOps& behind) noexcept;
CondOps over_old_cond(const CondOps& behind) noexcept;

}  // namespace lockswap::metrics
