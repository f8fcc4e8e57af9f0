// list-full: the list-based range lock in place of mmap_sem, always for the full range (range
// locks, section 7.2).
#pragma once

#include "address_space/designs/ranges.h"

namespace lockswap::address_space {

template <class M>
class ListFull : public Ranges<M, typename M::ListLock, false, false> {};

}  // namespace lockswap::address_space
