// hybrid-rcu: pure-rcu, except that a fault searches the tree of regions under a reader-writer lock
// (Bonsai, section 5.2).
#pragma once

#include "address_space/designs/rcu_faults.h"

namespace lockswap::address_space {

template <class M>
class HybridRcu : public RcuFaults<M, TreeLockIndex<M>> {};

}  // namespace lockswap::address_space
