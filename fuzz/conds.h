// Condition variables whose signals wake the waiter that the seed selects.
#pragma once

#include "platform/system_mutex.h"

namespace lockswap::fuzz {

// Prepares the table below. Returns false if there is no memory, or if the layout of condition
// variables is unknown (object_layout says why).
bool prepare_conds() noexcept;
extern CondOps chosen_cond;

}  // namespace lockswap::fuzz
