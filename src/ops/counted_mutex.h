// Counting in front of mutexes and condition variables under LOCKSWAP_STATS: for glibc's mutexes,
// and for condition variables of any kind. Our mutexes count by themselves.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap {

extern const MutexOps counting_system_mutex;

// Replaces the two tables by ones that count and then call the given ones. Called once, at
// start-up.
void count_conds(const CondOps*& conds, const CondOps*& old_conds) noexcept;

}  // namespace lockswap
