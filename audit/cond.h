// Condition variables, counted: how they are used, by which clocks and with which mutexes.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap::audit {

// For objects as this C library lays them out, once learn_cond_layout has found out.
const CondOps& audited_cond() noexcept;
// For programs linked before glibc 2.3.2, whose objects have another layout.
extern const CondOps audited_old_cond;

}  // namespace lockswap::audit
