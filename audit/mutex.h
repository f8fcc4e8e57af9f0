// glibc's mutex functions with the audit in front.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap::audit {

// Calls system_mutex, which must be filled in first.
extern const MutexOps audited_mutex;

}  // namespace lockswap::audit
