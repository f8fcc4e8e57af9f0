#include "mutants.h"

namespace lockswap::explore {

SeededFault weak(const char* name, const char* file, const char* function, Op op, Order from,
                 Order to, const char* found_by) {
  return {.mutation = {.name = name,
                       .file = file,
                       .function = function,
                       .op = op,
                       .declared = from,
                       .kind = Mutation::weaken,
                       .order = to},
          .found_by = found_by};
}
SeededFault blind(const char* name, const char* file, const char* function, Order order,
                  std::uint64_t sees, const char* found_by) {
  return {.mutation = {.name = name,
                       .file = file,
                       .function = function,
                       .op = Op::load,
                       .declared = order,
                       .kind = Mutation::force_value,
                       .value = sees},
          .found_by = found_by};
}
SeededFault silent(const char* name, const char* file, const char* function, const char* found_by) {
  return {.mutation = {.name = name,
                       .file = file,
                       .function = function,
                       .op = Op::wake,
                       .declared = relaxed,
                       .kind = Mutation::drop},
          .found_by = found_by};
}

std::vector<Order> weaker(Op op, Order order) {
  const bool reads_only = op == Op::load || op == Op::await;
  const bool writes_only = op == Op::store;
  switch (order) {
    case seq_cst:
      if (reads_only) return {relaxed, acquire};
      if (writes_only) return {relaxed, release};
      return {relaxed, acquire, release, acq_rel};
    case acq_rel:
      return {relaxed, acquire, release};
    case acquire:
    case release:
      return {relaxed};
    default:
      return {};
  }
}

bool implies(Order strong, Order weak) {
  return weak == strong || weak == relaxed || strong == seq_cst ||
         (strong == acq_rel && weak != seq_cst);
}

}  // namespace lockswap::explore
