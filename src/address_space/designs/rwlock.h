// rwlock: one reader-writer lock, as mmap_sem was: faults read, operations write.
#pragma once

#include "address_space/change.h"
#include "address_space/index.h"

namespace lockswap::address_space {

template <class M>
class OneRwLock {
 public:
  using Index = LockedIndex<M>;
  static constexpr bool kInPlace = true;
  struct Hand {
    explicit Hand(OneRwLock&) {}
  };
  Index& index() { return index_; }
  void hide(const std::vector<Region<M>*>&) {}
  void show() {}

  template <class Fill>
  auto fault(Hand&, std::uint64_t page, Fill fill) {
    lock_.lock_shared();
    const auto o = fill(index_.floor(page), true);
    lock_.unlock_shared();
    return o;
  }
  template <class Body>
  void change(Hand&, Change, std::uint64_t, std::uint64_t, Body body) {
    lock_.lock();
    body(Allowed{true, 0, PageTable<M>::kPages});
    lock_.unlock();
  }

 private:
  typename M::RwLock lock_;
  Index index_;
};

}  // namespace lockswap::address_space
