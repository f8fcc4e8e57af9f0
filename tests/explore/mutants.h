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

// All that an order can be weakened to, the weakest first.
std::vector<Order> weaker(Op op, Order order);
// Whatever `strong` orders includes what `weak` orders.
bool implies(Order strong, Order weak);

}  // namespace lockswap::explore
