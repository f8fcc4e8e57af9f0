// The index of a space's regions: under the space's lock (LockedIndex); as the same tree with its
// own lock, where regions are freed after a grace period (TreeLockIndex); or as a Bonsai tree that
// faults search without a lock (RcuIndex).
#pragma once

#include <set>
#include <vector>

#include "address_space/grace.h"
#include "address_space/page_table.h"
#include "address_space/region.h"
#include "lockswap/bonsai.hpp"

namespace lockswap::address_space {

// A search tree ordered by starts, like mm_rb. A start may move as long as the order stays.
template <class M>
class LockedIndex {
 public:
  // An operation may change a region that stays, because nobody reads it meanwhile.
  static constexpr bool kInPlace = true;
  struct Hand {
    explicit Hand(LockedIndex&) {}
  };
  ~LockedIndex() {
    for (Region<M>* r : regions_)
      Region<M>::free(r);
  }
  // Called before there are other threads: caches the region that was found last and tries it first
  // (Linux's mmap_cache; Bonsai, section 6).
  void keep_last() { keeps_ = true; }
  Region<M>* floor(std::uint64_t page) {
    structure_.get();
    if (keeps_) {
      // relaxed: a cached region is in the tree, because erase clears the cache. So it was inserted
      // under a lock that excludes the caller's, and its contents are visible.
      Region<M>* last = reinterpret_cast<Region<M>*>(last_.load(relaxed));
      if (last != nullptr && last->has(page)) return last;
    }
    const auto above = regions_.upper_bound(page);
    Region<M>* r = above == regions_.begin() ? nullptr : *std::prev(above);
    if (keeps_) last_.store(reinterpret_cast<std::uintptr_t>(r), relaxed);  // as above
    return r;
  }
  // Returns the regions that have a page in [start, end] or touch it, in order.
  std::vector<Region<M>*> around(std::uint64_t start, std::uint64_t end) {
    structure_.get();
    std::vector<Region<M>*> found;
    auto i = regions_.lower_bound(start);
    if (i != regions_.begin() && (*std::prev(i))->end.load(relaxed) >= start) --i;
    for (; i != regions_.end() && (*i)->start.load(relaxed) <= end; ++i)
      found.push_back(*i);
    return found;
  }
  void insert(Region<M>* r) {
    structure_.set(0);
    regions_.insert(r);
  }
  void erase(Region<M>* r) {
    structure_.set(0);
    if (keeps_) last_.store(0, relaxed);  // under the lock for all, as in floor
    regions_.erase(r);
  }
  // Nobody reads it, because the caller has the lock exclusively.
  void retire(Region<M>* r) { Region<M>::free(r); }
  void retire(typename PageTable<M>::Table* t) { PageTable<M>::free(t); }
  void reclaim() {}

 private:
  struct ByStart {
    using is_transparent = void;
    static std::uint64_t start(const Region<M>* r) { return r->start.load(relaxed); }
    static std::uint64_t start(std::uint64_t page) { return page; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return start(a) < start(b);
    }
  };
  std::set<Region<M>*, ByStart> regions_;
  bool keeps_ = false;
  typename M::template atomic<std::uint64_t> last_;
  typename M::template plain<int> structure_;  // shows the explorer who changes the tree
};

// What indexes that faults search have in common: regions and tables are freed after a grace
// period.
template <class M>
class GraceIndex {
 public:
  static constexpr bool kInPlace = false;
  using Domain = quiescence<M>;
  struct Hand {
    explicit Hand(GraceIndex& of) : reader(of.domain_) {}
    typename Domain::reader reader;
  };
  using Section = typename Domain::section;
  template <class T>
  void retire(T* t) {
    grace_.retire(t);
  }
  void reclaim() { grace_.reclaim(); }

 protected:
  Domain domain_;

 private:
  Grace<M, Domain> grace_{domain_};
};

// A fault holds the tree's lock only during its search, because regions and tables are freed after
// a grace period. The holder of the space's lock, shared or exclusive, can search without a lock.
template <class M>
class TreeLockIndex : public GraceIndex<M> {
 public:
  using typename GraceIndex<M>::Hand;
  // Must be called in a read-side section.
  Region<M>* floor(Hand&, std::uint64_t page) {
    lock_.lock_shared();
    Region<M>* r = tree_.floor(page);
    lock_.unlock_shared();
    return r;
  }
  Region<M>* floor(std::uint64_t page) { return tree_.floor(page); }
  std::vector<Region<M>*> around(std::uint64_t start, std::uint64_t end) {
    return tree_.around(start, end);
  }
  void insert(Region<M>* r) {
    lock_.lock();
    tree_.insert(r);
    lock_.unlock();
  }
  void erase(Region<M>* r) {
    lock_.lock();
    tree_.erase(r);
    lock_.unlock();
  }

 private:
  typename M::IndexLock lock_;
  LockedIndex<M> tree_;
};

template <class M>
class RcuIndex : public GraceIndex<M> {
 public:
  using typename GraceIndex<M>::Domain, typename GraceIndex<M>::Hand;
  ~RcuIndex() {
    for (const auto& e : map_.exclusive())
      Region<M>::free(e.value);
  }
  // Must be called in a read-side section.
  Region<M>* floor(Hand& h, std::uint64_t page) {
    const auto found = map_.floor(h.reader, page);
    return found ? found->value : nullptr;
  }
  // The other functions are for the writer.
  Region<M>* floor(std::uint64_t page) {
    const auto found = map_.exclusive().floor(page);
    return found ? found->value : nullptr;
  }
  std::vector<Region<M>*> around(std::uint64_t start, std::uint64_t end) {
    std::vector<Region<M>*> found;
    Region<M>* first = start == 0 ? nullptr : floor(start - 1);
    if (first != nullptr && first->end.load(relaxed) >= start) found.push_back(first);
    const auto now = map_.exclusive();
    for (auto i = now.from(start); i != now.end() && (*i).key <= end; ++i)
      found.push_back((*i).value);
    return found;
  }
  void insert(Region<M>* r) { map_.insert(r->start.load(relaxed), r); }
  void erase(Region<M>* r) { map_.erase(r->start.load(relaxed)); }

 private:
  bonsai_map<std::uint64_t, Region<M>*, Domain, copies::path, std::less<std::uint64_t>, M> map_{
      this->domain_};
};

}  // namespace lockswap::address_space
