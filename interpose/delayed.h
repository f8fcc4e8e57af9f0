// Delays in holds, or behind them: LOCKSWAP_DELAY.
#pragma once

#include "config/delay.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap::delayed {

// Called at start-up. Returns false if there is no memory.
bool begin(const Delay& delay) noexcept;
// Tables of functions that delay what stands behind them; each once, after begin.
MutexOps over_mutex(const MutexOps& behind) noexcept;
RwOps over_rwlock(const RwOps& behind) noexcept;

// In a forked child; without a delay it does nothing.
void forked() noexcept;
// Says on stderr how often there was a delay.
void report() noexcept;

}  // namespace lockswap::delayed
