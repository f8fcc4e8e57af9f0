#pragma once

#include <vector>

#include "multicore/explore/mutation.h"

namespace lockswap::explore {

// A fault that must be found, and a case that must find it.
struct SeededFault {
  Mutation mutation;
  const char* found_by;
};

std::vector<SeededFault> seeded_faults();

// What an order can be weakened to, one step.
std::vector<Order> weaker(Op op, Order order);

}  // namespace lockswap::explore
