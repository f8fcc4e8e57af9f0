#pragma once

#include <vector>

#include "script.h"

namespace lockswap::explore {

std::vector<Case> all_cases();
std::vector<Case> range_cases();  // among them: range locks
// Those of mutexes and condition variables.
void add_mutex_cases(std::vector<Case>& cases);
void add_block_cases(std::vector<Case>& cases);
void add_address_space_cases(std::vector<Case>& cases);
void add_bonsai_cases(std::vector<Case>& cases);
void add_ldu_cases(std::vector<Case>& cases);
void add_rlu_cases(std::vector<Case>& cases);

}  // namespace lockswap::explore
