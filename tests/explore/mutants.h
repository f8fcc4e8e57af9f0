#pragma once

#include <cstdint>
#include <vector>

#include "multicore/explore/mutation.h"

namespace lockswap::explore {

// A fault that must be found, and a case that must find it.
struct SeededFault {
  Mutation mutation;
  const char* found_by;
};

// The faults of this explorer: mutants.cpp has those of the locks.
std::vector<SeededFault> seeded_faults();

// An order weakened, a load that sees the same value each time, a wake-up that is left out.
SeededFault weak(const char* name, const char* file, const char* function, Op op, Order from,
                 Order to, const char* found_by);
SeededFault blind(const char* name, const char* file, const char* function, Order order,
                  std::uint64_t sees, const char* found_by);
SeededFault silent(const char* name, const char* file, const char* function, const char* found_by);

// All that an order can be weakened to, the weakest first.
std::vector<Order> weaker(Op op, Order order);
// Whatever `strong` orders includes what `weak` orders.
bool implies(Order strong, Order weak);

}  // namespace lockswap::explore
