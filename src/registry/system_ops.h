// glibc's lock with counting in front: what `pthread` runs under LOCKSWAP_STATS, so that a
// program's calls can be counted on its own lock.
#pragma once

#include "platform/system_rwlock.h"

namespace lockswap {

extern const RwOps counting_system_ops;

}  // namespace lockswap
