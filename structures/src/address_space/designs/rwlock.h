// rwlock: one reader-writer lock, as mmap_sem was. Faults read, and operations write.
#pragma once

#include "address_space/designs/design.h"

namespace lockswap::address_space {

template <class M>
class OneRwLock : public UnderRwLock<M, LockedIndex<M>> {
 public:
  template <class Hand, class Fill>
  auto fault(Hand&, std::uint64_t page, Fill fill) {
    return this->fill_under_lock(page, fill);
  }
};

}  // namespace lockswap::address_space
