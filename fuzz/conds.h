// Condition variables whose signals wake the waiter that the seed chooses.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap::fuzz {

// Makes the table below ready. False: there is no memory.
bool prepare_conds() noexcept;
extern CondOps chosen_cond;

}  // namespace lockswap::fuzz
