// The POSIX functions for condition variables, with mutexes of ours and glibc's. Process-shared
// ones stay glibc's.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap {

// Prepares the functions for objects of programs since glibc 2.3.2, and for older objects, which
// contain only our state and have no attributes. Their waits release and acquire mutexes by
// `mutexes`, which must be filled in by then. The layout must be known (learn_cond_layout).
bool prepare_conds(const MutexOps& mutexes, const MutexOfConds& of_conds) noexcept;
const CondOps& cond_ops() noexcept;
extern const CondOps old_cond_ops;

}  // namespace lockswap
