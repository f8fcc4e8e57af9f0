// fault-lock: one lock excludes operations from each other, and a second one excludes faults. An
// operation takes the second one only while it changes what faults read (Bonsai, section 5.1).
// Nobody takes the first for reading, so it is a mutex here; in the paper it is mmap_sem, held for
// writing.
#pragma once

#include "address_space/designs/design.h"

namespace lockswap::address_space {

template <class M>
class FaultLock : public Design<M, LockedIndex<M>> {
  using Base = Design<M, LockedIndex<M>>;
  using Base::index_;

 public:
  using typename Base::Hand;
  void hide(const std::vector<Region<M>*>&) { faults_.lock(); }
  void show() { faults_.unlock(); }

  template <class Fill>
  auto fault(Hand&, std::uint64_t page, Fill fill) {
    faults_.lock_shared();
    const auto o = fill(index_.floor(page), true);
    faults_.unlock_shared();
    return o;
  }
  template <class Body>
  void change(Hand&, Change, std::uint64_t, std::uint64_t, Body body) {
    const Held<M, typename M::ChangeLock> held(changes_);
    body(Allowed{true, 0, PageTable<M>::kPages});
  }

 private:
  alignas(64) typename M::ChangeLock changes_;
  alignas(64) typename M::RwLock faults_;
};

}  // namespace lockswap::address_space
