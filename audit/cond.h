// Condition variables, counted: how they are used, by which clocks and with which mutexes.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap::audit {

extern const CondOps audited_cond;
// Of programs linked before glibc 2.3.2, whose objects have another layout.
extern const CondOps audited_old_cond;

}  // namespace lockswap::audit
