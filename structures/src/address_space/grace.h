// Regions and tables that faults without a lock may still access, until they are freed after a
// grace period.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "address_space/page_table.h"
#include "address_space/region.h"

namespace lockswap::address_space {

template <class M, class Domain>
class Grace {
 public:
  using Table = typename PageTable<M>::Table;
  explicit Grace(Domain& domain) : domain_(domain) {}
  ~Grace() {
    free_all(closed_);
    free_all(open_);
  }
  Grace(const Grace&) = delete;
  void retire(Region<M>* r) { open_.regions.push_back(r); }
  void retire(Table* t) { open_.tables.push_back(t); }
  // Never waits.
  void reclaim() {
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
  static void free_all(Garbage& g) {
    for (Region<M>* r : g.regions)
      Region<M>::free(r);
    for (Table* t : g.tables)
      PageTable<M>::free(t);
    g = {};
  }
  Domain& domain_;
  Garbage open_, closed_;
  std::optional<typename Domain::period> period_;
};

}  // namespace lockswap::address_space
