// Start-up: on the first call of any exported function, or in the library's constructor, whichever
// comes first. Locks are taken before constructors run, so nothing here may rely on them.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "platform/system_waits.h"

namespace lockswap {

// The functions behind the exported symbols. At first each starts the library and then calls the
// function that has taken its place. Written once, a pointer at a time, by the thread that starts;
// another thread that still reads an old pointer only asks for a start that is over.
extern RwOps active_rwlock;
extern MutexOps active_mutex;
extern CondOps active_cond;
extern CondOps active_old_cond;
extern WaitOps active_waits;

// Starts the library, if that has not been done. Waits for the thread that does.
void ensure_started() noexcept;

}  // namespace lockswap
