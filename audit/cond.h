// glibc's condition variable functions with the audit in front. It counts how they are used, with
// which clocks and which mutexes.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap::audit {

// For objects with this C library's layout, after learn_cond_layout has found it.
const CondOps& audited_cond() noexcept;
// For programs linked before glibc 2.3.2, whose objects have another layout.
extern const CondOps audited_old_cond;

}  // namespace lockswap::audit
