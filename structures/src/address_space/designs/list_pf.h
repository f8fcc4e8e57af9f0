// list-pf: only faults lock less, namely their page (range locks, section 7.2, figure 6).
#pragma once

#include "address_space/designs/ranges.h"

namespace lockswap::address_space {

template <class M>
class ListPf : public Ranges<M, typename M::ListLock, true, false> {};

}  // namespace lockswap::address_space
