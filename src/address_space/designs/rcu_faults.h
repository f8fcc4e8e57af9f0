// What the designs share whose faults do not take the space's lock (Bonsai, sections 5.2 and 5.3).
//
// An operation marks the regions that change, then empties their tables; a fault looks at the mark
// once more under the table's lock before it fills. A fault that finds no region, or a mark, looks
// again under the lock: an operation may be half done. So do file-backed faults and copies
// (section 6).
#pragma once

#include "address_space/change.h"
#include "address_space/index.h"

namespace lockswap::address_space {

template <class M, class Where>
class RcuFaults {
 public:
  using Index = Where;
  static constexpr bool kInPlace = false;
  struct Hand : Index::Hand {
    explicit Hand(RcuFaults& of) : Index::Hand(of.index_) {}
  };
  Index& index() { return index_; }
  void hide(const std::vector<Region<M>*>& regions) {
    for (Region<M>* r : regions)
      r->gone.store(1, relaxed);  // each table's lock follows
  }
  void show() {}

  template <class Fill>
  auto fault(Hand& h, std::uint64_t page, Fill fill) {
    {
      const typename Index::Section inside(h.reader);
      const auto o = fill(index_.floor(h, page), false);
      if (o.result == decltype(o.result)::done) return o;
    }
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
