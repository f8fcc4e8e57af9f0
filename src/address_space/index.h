// Where a space's regions stand: under a lock (LockedIndex), or in a Bonsai tree that faults look
// into without one (RcuIndex); and what waits there for a grace period.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "address_space/page_table.h"
#include "address_space/region.h"
#include "lockswap/bonsai.hpp"

namespace lockswap::address_space {

// A search tree ordered by starts, as mm_rb is: a start may move as long as the order stays.
template <class M>
class LockedIndex {
 public:
  struct Hand {
    explicit Hand(LockedIndex&) {}
  };
  ~LockedIndex() {
    for (Region<M>* r : regions_)
      free(r);
  }
  Region<M>* floor(std::uint64_t page) {
    structure_.get();
    const auto above = regions_.upper_bound(page);
    return above == regions_.begin() ? nullptr : *std::prev(above);
  }
  // Those that have a page in [start, end] or touch it, in order.
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
    regions_.erase(r);
  }
  // Nobody looks at it: the caller has the lock for itself.
  void retire(Region<M>* r) { free(r); }
  void retire(typename PageTable<M>::Table* t) { PageTable<M>::free(t); }
  void settle() {}

 private:
  static void free(Region<M>* r) {
    r->~Region<M>();
    M::template give<Region<M>>(r);
  }
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
  typename M::template plain<int> structure_;  // for the explorer: it sees who changes the tree
};

template <class M>
class RcuIndex {
 public:
  using Domain = quiescence<M>;
  using Table = typename PageTable<M>::Table;
  struct Hand {
    explicit Hand(RcuIndex& of) : reader(of.domain_) {}
    typename Domain::reader reader;
  };
  using Section = typename Domain::section;

  ~RcuIndex() {
    for (const auto& e : map_.exclusive())
      free(e.value);
    free_all(closed_);
    free_all(open_);
  }
  // In a section.
  Region<M>* floor(Hand& h, std::uint64_t page) {
    const auto found = map_.floor(h.reader, page);
    return found ? found->value : nullptr;
  }
  // The rest is the writer's.
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
  void retire(Region<M>* r) { open_.regions.push_back(r); }
  void retire(Table* t) { open_.tables.push_back(t); }
  // Never waits.
  void settle() {
    if (!period_ && open_.size() >= M::kGarbage) {
      std::swap(open_, closed_);
      period_.emplace(domain_.close());
    }
    if (!period_ || !domain_.is_over(*period_)) return;
    free_all(closed_);
    period_.reset();
  }

 private:
  struct Garbage {
    std::vector<Region<M>*> regions;
    std::vector<Table*> tables;
    std::size_t size() const { return regions.size() + tables.size(); }
  };
  static void free(Region<M>* r) {
    r->~Region<M>();
    M::template give<Region<M>>(r);
  }
  static void free_all(Garbage& g) {
    for (Region<M>* r : g.regions)
      free(r);
    for (Table* t : g.tables)
      PageTable<M>::free(t);
    g = {};
  }
  Domain domain_;
  bonsai_map<std::uint64_t, Region<M>*, Domain, copies::path, std::less<std::uint64_t>, M> map_{
      domain_};
  Garbage open_, closed_;
  std::optional<typename Domain::period> period_;
};

}  // namespace lockswap::address_space
