// Delays before or after the release of a lock: LOCKSWAP_DELAY.
#pragma once

#include "config/delay.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap::delayed {

// Called at start-up. Returns false if there is no memory.
bool begin(const Delay& delay) noexcept;
// Return tables of functions that delay the functions behind them. Each may be called once, after
// begin.
MutexOps over_mutex(const MutexOps& behind) noexcept;
RwOps over_rwlock(const RwOps& behind) noexcept;

// Called in a forked child. Does nothing if there is no delay.
void forked() noexcept;
// Prints on stderr how often there was a delay.
void report() noexcept;

}  // namespace lockswap::delayed
