// A profile of all locks: LOCKSWAP_PROFILE.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "recording/modules.h"

namespace lockswap::profile {

// Called at start-up, by one thread, when all tables are filled in. Returns false if nothing can be
// recorded in the folder.
bool begin(const char* folder, const recording::ModuleFunctions& functions) noexcept;
// What profiling itself costs, into the file: on objects of this library's own.
void calibrate(const MutexOps& profiled, const MutexOps& behind) noexcept;

// Called in a forked child, and at the end; without a profile they do nothing.
void forked() noexcept;
void end() noexcept;

}  // namespace lockswap::profile
