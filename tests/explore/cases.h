#pragma once

#include <vector>

#include "script.h"

namespace lockswap::explore {

// Those of the program: the explorer of everything has all, the explorer of a lock has that lock's.
std::vector<Case> all_cases();
// Marks the cases whose quick executions are all among another case's.
void mark_contained(std::vector<Case>& cases);
std::vector<Case> range_cases();
// Condition variables beside a mutex like glibc's.
void add_cond_cases(std::vector<Case>& cases);
void add_block_cases(std::vector<Case>& cases);
void add_address_space_cases(std::vector<Case>& cases);
void add_bonsai_cases(std::vector<Case>& cases);
void add_ldu_cases(std::vector<Case>& cases);
void add_rlu_cases(std::vector<Case>& cases);

}  // namespace lockswap::explore
