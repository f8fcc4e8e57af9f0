#pragma once

#include "script.h"

namespace lockswap::explore {

// Those of the program: the explorer of all locks has theirs, the explorer of one has that lock's.
Cases all_cases();
// Marks the cases whose quick executions are all among another case's.
void mark_contained(Cases& cases);
Cases range_cases();
// Condition variables beside a mutex like glibc's.
void add_cond_cases(Cases& cases);
void add_block_cases(Cases& cases);
void add_switch_cases(Cases& cases);

}  // namespace lockswap::explore
