// What designs have in common: regions in an index, and for most of them one lock over it.
#pragma once

#include "address_space/change.h"
#include "address_space/index.h"

namespace lockswap::address_space {

// For designs in which no fault runs beside an operation, so that hide and show have nothing to do.
template <class M, class Where>
class Design {
 public:
  using Index = Where;
  static constexpr bool kInPlace = Where::kInPlace;
  // A thread's data for using the design.
  struct Hand : Index::Hand {
    template <class D>
    explicit Hand(D& of) : Index::Hand(of.index()) {}
  };
  Index& index() { return index_; }
  void hide(const std::vector<Region<M>*>&) {}
  void show() {}
  // A fault may fill this many pages around its own, a power of two. Called before there are other
  // threads.
  void faults_fill(std::uint64_t pages) { filled_ = pages; }

 protected:
  // The pages that a fault must lock, if it locks pages: [first, last).
  std::uint64_t first_filled(std::uint64_t page) const { return page & ~(filled_ - 1); }
  std::uint64_t last_filled(std::uint64_t page) const { return first_filled(page) + filled_; }

  alignas(64) Index index_;

 private:
  std::uint64_t filled_ = 1;
};

// For designs that try some operations with only some of the pages.
template <class M>
class Speculative : public Design<M, LockedIndex<M>> {
 public:
  struct Hand : LockedIndex<M>::Hand {
    template <class D>
    explicit Hand(D& of) : LockedIndex<M>::Hand(of.index()) {}
    Attempts attempts;
  };
};

// The lock is like mmap_sem: operations hold it exclusively.
template <class M, class Where>
class UnderRwLock : public Design<M, Where> {
 public:
  template <class Body>
  void change(typename Where::Hand&, Change, std::uint64_t, std::uint64_t, Body body) {
    lock_.lock();
    body(Allowed{true, 0, PageTable<M>::kPages});
    lock_.unlock();
  }

 protected:
  // No operation is half done meanwhile.
  template <class Fill>
  auto fill_under_lock(std::uint64_t page, Fill& fill) {
    lock_.lock_shared();
    const auto o = fill(this->index_.floor(page), true);
    lock_.unlock_shared();
    return o;
  }

 private:
  alignas(64) typename M::RwLock lock_;
};

}  // namespace lockswap::address_space
