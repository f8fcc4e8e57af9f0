// Profiles all locks: LOCKSWAP_PROFILE.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "recording/modules.h"

namespace lockswap::profile {

// Called once at start-up, when all tables are filled in. Returns false if nothing can be recorded
// in the folder.
bool begin(const char* folder, const recording::ModuleFunctions& functions) noexcept;
// Measures what profiling itself costs, with objects of this library, and stores the result in the
// file.
void calibrate(const MutexOps& profiled, const MutexOps& behind) noexcept;

// Called in a forked child, and when the process ends. They do nothing without a profile.
void forked() noexcept;
void end() noexcept;

}  // namespace lockswap::profile
