// list-refined: faults lock their page, and mprotect locks its region (range locks, sections 5.2,
// 5.3, 7.2).
#pragma once

#include "address_space/designs/ranges.h"

namespace lockswap::address_space {

template <class M>
class ListRefined : public Ranges<M, typename M::ListLock, true, true> {};

}  // namespace lockswap::address_space
