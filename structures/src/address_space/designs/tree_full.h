// tree-full: list-full with the range lock that is a tree under a spin lock (range locks, sections
// 3 and 7.2).
#pragma once

#include "address_space/designs/ranges.h"

namespace lockswap::address_space {

template <class M>
class TreeFull : public Ranges<M, typename M::TreeLock, false, false> {};

}  // namespace lockswap::address_space
