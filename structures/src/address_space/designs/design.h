// What designs have in common: regions in an index, and, of most, one lock over it.
#pragma once

#include "address_space/change.h"
#include "address_space/index.h"

namespace lockswap::address_space {

// No fault looks beside an operation, so that this has nothing to hide from it, or to show.
template <class M, class Where>
class Design {
 public:
  using Index = Where;
  static constexpr bool kInPlace = Where::kInPlace;
  // What a thread needs to use it.
  struct Hand : Index::Hand {
    template <class D>
    explicit Hand(D& of) : Index::Hand(of.index()) {}
  };
  Index& index() { return index_; }
  void hide(const std::vector<Region<M>*>&) {}
  void show() {}
  // A fault may fill so many pages around its own, a power of two. Before threads look.
  void faults_fill(std::uint64_t pages) { filled_ = pages; }

 protected:
  // What a fault has to lock, where it locks pages: [first, last).
  std::uint64_t first_filled(std::uint64_t page) const { return page & ~(filled_ - 1); }
  std::uint64_t last_filled(std::uint64_t page) const { return first_filled(page) + filled_; }

  alignas(64) Index index_;

 private:
  std::uint64_t filled_ = 1;
};

// Some operations are tried with a part of the pages.
template <class M>
class Speculative : public Design<M, LockedIndex<M>> {
 public:
  struct Hand : LockedIndex<M>::Hand {
    template <class D>
    explicit Hand(D& of) : LockedIndex<M>::Hand(of.index()) {}
    Attempts attempts;
  };
};

// The lock is as mmap_sem was: operations have it for themselves.
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
