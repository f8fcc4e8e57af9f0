// The structures of bonsai that need liburcu.
#pragma once

#include "bonsai/plain_tree.h"
#include "bonsai/trees.h"
#include "lockswap/urcu.hpp"
#include "rlu/rcu.h"

namespace bench {

// The threads are liburcu's readers already.
template <class F, class Flavour>
struct UrcuPeriods {
  using Domain = lockswap::urcu_domain<Flavour>;
  struct Reader : Domain::reader {
    explicit Reader(Domain& domain) : Domain::reader(domain, lockswap::urcu::registered) {}
  };
  static void attach() { F::attach(); }
  static void operation_ends() { F::operation_ends(); }
};
using MembPeriods = UrcuPeriods<Memb, lockswap::urcu::memb>;
using QsbrPeriods = UrcuPeriods<Qsbr, lockswap::urcu::qsbr>;

}  // namespace bench
