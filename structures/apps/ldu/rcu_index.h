// An index on liburcu: a list that readers walk under RCU, whose writers take a mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <urcu/rculist.h>

#include "ldu/locks.h"
#include "ldu/mapping.h"
#include "rlu/rcu.h"

namespace bench {

template <LockClass kClass>
class RcuIndex {
 public:
  static constexpr bool kReuses = false;
  static constexpr bool kAbsorbs = false;
  struct Mapping : Counted, cds_list_head, rcu_head {
    Pages pages;
  };
  struct Shared {};
  struct Hand {
    explicit Hand(Shared&) { Memb::attach(); }
  };
  explicit RcuIndex(Shared&) { CDS_INIT_LIST_HEAD(&all_); }
  static void flush(Shared&) { Memb::barrier(); }

  void insert(Hand&, Mapping& m) {
    const std::lock_guard hold(lock_);
    cds_list_add_rcu(&m, &all_);
  }
  void retire(Hand&, Mapping& m) {
    {
      const std::lock_guard hold(lock_);
      cds_list_del_rcu(&m);
    }
    Memb::call(&m, [](rcu_head* head) { delete static_cast<Mapping*>(head); });
  }
  template <class F = NothingElse>
  std::uint64_t walk(Hand&, std::uint32_t page, F f = {}) {
    const RcuReading<Memb> here;
    std::uint64_t found = 0;
    for (cds_list_head* n = rcu_dereference(all_.next); n != &all_; n = rcu_dereference(n->next)) {
      const auto* const m = static_cast<const Mapping*>(n);
      if (m->pages.has(page)) f(*m), ++found;
    }
    return found;
  }

 private:
  Mutex<kClass> lock_;
  cds_list_head all_;
};

}  // namespace bench
