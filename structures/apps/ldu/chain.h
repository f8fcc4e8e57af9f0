// Mappings of anonymous memory: a chain; for one thread. A new one comes first, so a process that
// ends soon is found soon; removing takes no search.
#pragma once

#include <cstdint>

#include "ldu/mapping.h"

namespace bench {

class Chain {
 public:
  struct Node : Counted {
    Pages pages;

   private:
    friend class Chain;
    Node* next = nullptr;
    Node** link = nullptr;  // what leads here
  };

  void insert(Node& n) noexcept {
    n.next = first_;
    n.link = &first_;
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete): what is freed was removed before
    if (first_ != nullptr) first_->link = &n.next;
    first_ = &n;
  }
  void remove(Node& n) noexcept {
    *n.link = n.next;
    if (n.next != nullptr) n.next->link = n.link;
  }
  template <class F>
  void walk(std::uint32_t page, F f) const {
    for (const Node* n = first_; n != nullptr; n = n->next) {
      if (n->pages.has(page)) f(*n);
    }
  }
  bool is_empty() const noexcept { return first_ == nullptr; }

 private:
  Node* first_ = nullptr;
};

}  // namespace bench
