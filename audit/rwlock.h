// glibc's reader-writer lock functions with the audit in front.
#pragma once

#include "platform/system_rwlock.h"

namespace lockswap::audit {

// Calls system_rwlock, which must be filled in.
extern const RwOps audited_rwlock;

}  // namespace lockswap::audit
