// What designs whose faults do not take the space's lock have in common (Bonsai, sections 5.2 and
// 5.3).
//
// An operation marks the regions that change, then empties their tables. A fault checks the mark
// once more under the table's lock before it fills the entry. A fault that finds no region, or a
// mark, retries under the lock, because an operation may be half done. So do file-backed faults and
// copies (section 6).
#pragma once

#include "address_space/designs/design.h"

namespace lockswap::address_space {

template <class M, class Where>
class RcuFaults : public UnderRwLock<M, Where> {
  using Base = UnderRwLock<M, Where>;
  using Base::index_;

 public:
  using typename Base::Hand, typename Base::Index;
  void hide(const std::vector<Region<M>*>& regions) {
    for (Region<M>* r : regions)
      r->gone.store(1, relaxed);  // ordered by each table's lock, taken later
  }

  template <class Fill>
  auto fault(Hand& h, std::uint64_t page, Fill fill) {
    {
      const typename Index::Section inside(h.reader);
      const auto o = fill(index_.floor(h, page), false);
      if (o.result == decltype(o.result)::done) return o;
    }
    return this->fill_under_lock(page, fill);
  }
};

}  // namespace lockswap::address_space
