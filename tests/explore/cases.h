#pragma once

#include <vector>

#include "script.h"

namespace lockswap::explore {

std::vector<Case> all_cases();
std::vector<Case> range_cases();  // among them: range locks

}  // namespace lockswap::explore
