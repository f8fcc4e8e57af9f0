// list-full: the range lock takes the place of mmap_sem, and everybody asks for all of it.
#pragma once

#include "address_space/index.h"

namespace lockswap::address_space {

template <class M>
class ListFull {
 public:
  using Index = LockedIndex<M>;
  static constexpr bool kInPlace = true;
  struct Hand {
    explicit Hand(ListFull&) {}
  };
  Index& index() { return index_; }
  void hide(const std::vector<Region<M>*>&) {}
  void show() {}

  template <class Fill>
  auto fault(Hand&, std::uint64_t page, Fill fill) {
    const typename M::Range held(lock_, 0, PageTable<M>::kPages, true);
    return fill(index_.floor(page), true);
  }
  template <class Body>
  void change(Hand&, std::uint64_t, std::uint64_t, bool, Body body) {
    const typename M::Range held(lock_, 0, PageTable<M>::kPages, false);
    body(false);
  }

 private:
  typename M::RangeLock lock_;
  Index index_;
};

}  // namespace lockswap::address_space
