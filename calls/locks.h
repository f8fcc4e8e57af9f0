// The functions of locks and condition variables, with a record of each call.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap::calls {

MutexOps over_mutex(const MutexOps& behind) noexcept;
RwOps over_rwlock(const RwOps& behind) noexcept;
CondOps over_cond(const CondOps& behind) noexcept;
CondOps over_old_cond(const CondOps& behind) noexcept;

}  // namespace lockswap::calls
