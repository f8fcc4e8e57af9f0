// What a list without locks needs of the real machine: links, and nodes that liburcu frees.
#pragma once

#include <atomic>
#include <cstdint>

#include "rlu/rcu.h"

namespace bench {

struct UrcuNodes {
  using Link = std::atomic<std::uintptr_t>;
  using Head = rcu_head;
  using Reading = RcuReading<Memb>;
  static void attach() { Memb::attach(); }
  static void barrier() { Memb::barrier(); }
  // When nobody reads it any more.
  template <class Node>
  static void free_later(Node& n) {
    Memb::call(&n, [](rcu_head* head) { delete static_cast<Node*>(head); });
  }
};

}  // namespace bench
