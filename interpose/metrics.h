// LOCKSWAP_METRICS: counts calls before they reach the chosen functions.
#pragma once

#include "config/config.h"
#include "platform/system_rwlock.h"
#include "registry/mutexes.h"

namespace lockswap {

// Called at start-up, after everything else that is put in front of the locks.
void begin_metrics(const Config& config, RwOps& rwlock, MutexChoice& choice) noexcept;

}  // namespace lockswap
