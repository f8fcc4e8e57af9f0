// LOCKSWAP_RECORD: a record of all calls before the functions that were chosen.
#pragma once

#include "platform/system_rwlock.h"
#include "registry/mutexes.h"

namespace lockswap {

// At start-up, behind everything else that stands before the locks.
void begin_calls(RwOps& rwlock, MutexChoice& choice) noexcept;

}  // namespace lockswap
