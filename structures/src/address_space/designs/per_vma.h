// per-vma: a lock and a sequence count in each region (Linux since 6.4).
//
// An operation write-locks each region that changes: it waits for faults that hold it for reading,
// and stores the space's number in it. The region stays locked until the operation increments the
// space's number at its end, which unlocks all regions at once. Those that it replaced are marked
// as gone by then. A fault continues under the space's lock if its region is locked or gone, if it
// has more to do than a minor fault, or if the region maps a file.
#pragma once

#include "address_space/designs/design.h"

namespace lockswap::address_space {

template <class M>
class PerVma : public UnderRwLock<M, RcuIndex<M>> {
  using Base = UnderRwLock<M, RcuIndex<M>>;
  using Base::index_;

 public:
  using typename Base::Hand, typename Base::Index;
  static constexpr std::uint64_t kWriter = ~std::uint64_t{0};
  PerVma() { number_.store(1, relaxed); }  // new regions have number 0
  void hide(const std::vector<Region<M>*>& regions) {
    const std::uint64_t now = number_.load(relaxed);  // relaxed: written under the lock
    for (Region<M>* r : regions) {
      // acquire: pairs with the release in fault; what faults did before.
      M::take_when_zero(r->holders, kWriter);
      r->count.store(now, relaxed);  // released by the next line
      r->holders.store(0, release);  // pairs with the compare-exchange in fault
    }
  }
  void show() {
    // release: pairs with the load in fault; what the operation did, and which regions are gone.
    number_.store(number_.load(relaxed) + 1, release);
  }

  template <class Fill>
  auto fault(Hand& h, std::uint64_t page, Fill fill) {
    {
      const typename Index::Section inside(h.reader);
      Region<M>* r = index_.floor(h, page);
      if (r != nullptr) {
        std::uint64_t holders = r->holders.load(relaxed);  // relaxed: a guess
        // acquire: pairs with the release in hide; its number. It also brings the space's number
        // that the operation had, so the load below can't return an older one.
        if (holders != kWriter && r->holders.compare_exchange(holders, holders + 1, acquire)) {
          // acquire: pairs with the release in show; which regions are gone.
          const bool locked = r->count.load(relaxed) == number_.load(acquire);
          auto o = fill(locked ? nullptr : r, false);
          r->holders.fetch_add(~std::uint64_t{0}, release);  // pairs with hide
          if (o.result == decltype(o.result)::done) return o;
        }
      }
    }
    return this->fill_under_lock(page, fill);
  }

 private:
  alignas(64) typename Region<M>::Word number_;  // every fault reads it
};

}  // namespace lockswap::address_space
