// list-mprotect: only mprotect locks less, namely its region (range locks, section 7.2, figure 6).
#pragma once

#include "address_space/designs/ranges.h"

namespace lockswap::address_space {

template <class M>
class ListMprotect : public Ranges<M, typename M::ListLock, false, true> {};

}  // namespace lockswap::address_space
