// pure-rcu: faults take no locks except those of page tables (Bonsai, section 5.3).
#pragma once

#include "address_space/designs/rcu_faults.h"

namespace lockswap::address_space {

template <class M>
class PureRcu : public RcuFaults<M, RcuIndex<M>> {};

}  // namespace lockswap::address_space
