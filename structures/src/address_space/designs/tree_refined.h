// tree-refined: list-refined with the range lock that is a tree under a spin lock (range locks,
// sections 3 and 7.2).
#pragma once

#include "address_space/designs/ranges.h"

namespace lockswap::address_space {

template <class M>
class TreeRefined : public Ranges<M, typename M::TreeLock, true, true> {};

}  // namespace lockswap::address_space
