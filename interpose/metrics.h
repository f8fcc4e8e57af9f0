// LOCKSWAP_METRICS: counters before the functions that were chosen.
#pragma once

#include "config/config.h"
#include "platform/system_rwlock.h"
#include "registry/mutexes.h"

namespace lockswap {

// At start-up, behind everything else that stands before the locks.
void begin_metrics(const Config& config, RwOps& rwlock, MutexChoice& choice) noexcept;

}  // namespace lockswap
