// Condition variables whose signals wake the waiter that the seed chooses.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap::fuzz {

// Makes the table below ready. Returns false if there is no memory, or if the layout of condition
// variables is unknown (object_layout says why).
bool prepare_conds() noexcept;
extern CondOps chosen_cond;

}  // namespace lockswap::fuzz
