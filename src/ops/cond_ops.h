// Condition variables behind the functions of POSIX, for mutexes of ours and glibc's. One that is
// process-shared stays glibc's.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap {

// Functions for objects as programs have them since glibc 2.3.2, and for those of before, which
// hold nothing but our state and have no attributes. Their waits release and acquire mutexes by
// `mutexes`, which must be filled in by then, and the layout must be known (learn_cond_layout).
bool prepare_conds(const MutexOps& mutexes, const MutexOfConds& of_conds) noexcept;
const CondOps& cond_ops() noexcept;
extern const CondOps old_cond_ops;

}  // namespace lockswap
