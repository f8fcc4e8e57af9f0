// Start-up on the first call of any exported function, or in the library's constructor, whichever
// comes first. Programs take locks before constructors run, so nothing here may rely on them.
#pragma once

#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "platform/system_waits.h"

namespace lockswap {

// The functions behind the exported symbols. At first each starts the library, and then calls the
// function that has taken its place. The starting thread writes the table once, a pointer at a
// time. A thread that still reads an old pointer only asks for a start that is over.
extern RwOps active_rwlock;
extern MutexOps active_mutex;
extern CondOps active_cond;
extern CondOps active_old_cond;
extern WaitOps active_waits;

// Starts the library if nobody has yet. Waits if another thread is starting it.
void ensure_started() noexcept;

}  // namespace lockswap
