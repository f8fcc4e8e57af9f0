// list-full: the list-based range lock in mmap_sem's place, for all of it always (range locks,
// section 7.2).
#pragma once

#include "address_space/designs/ranges.h"

namespace lockswap::address_space {

template <class M>
class ListFull : public Ranges<M, typename M::ListLock, false, false> {};

}  // namespace lockswap::address_space
