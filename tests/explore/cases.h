#pragma once

#include <vector>

#include "script.h"

namespace lockswap::explore {

std::vector<Case> all_cases();

}  // namespace lockswap::explore
