// glibc's reader-writer lock functions with the audit in front.
#pragma once

#include "audit/me.h"
#include "platform/system_rwlock.h"

namespace lockswap::audit {

// Calls system_rwlock, which must be filled in first.
extern const RwOps audited_rwlock;

// Called when the process ends: counts unreleased holds up to now.
void note_times_of_open_holds() noexcept;

// Called when the thread ends, as note_mutexes_at_end.
void note_rwlocks_at_end(Me& m) noexcept;

}  // namespace lockswap::audit
