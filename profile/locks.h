// Tables of functions that profile the functions behind them.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap::profile {

// Each may be called once, at start-up.
MutexOps over_mutex(const MutexOps& behind) noexcept;
RwOps over_rwlock(const RwOps& behind) noexcept;
CondOps over_cond(const CondOps& behind) noexcept;
CondOps over_old_cond(const CondOps& behind) noexcept;

}  // namespace lockswap::profile
