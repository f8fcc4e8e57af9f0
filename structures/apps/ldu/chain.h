// Mappings of anonymous memory: a chain; for one thread. A new one comes first, so a process that
// ends soon is found soon; removing takes no search.
#pragma once

#include <cstdint>

#include "ldu/mapping.h"

namespace bench {

template <class Seen = Unseen>
class BasicChain {
 public:
  struct Node : Seen::Home, Counted {
    Pages pages;

   private:
    friend class BasicChain;
    Node* next = nullptr;
    Node** link = nullptr;  // what leads here
  };

  void insert(Node& n) noexcept {
    Seen::write(&n);
    n.next = first_;
    n.link = &first_;
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete): what is freed was removed before
    if (first_ != nullptr) {
      Seen::write(first_);
      first_->link = &n.next;
    }
    Seen::write(&first_);
    first_ = &n;
  }
  void remove(Node& n) noexcept {
    Seen::read(&n);
    Seen::write(n.link);
    *n.link = n.next;
    if (n.next == nullptr) return;
    Seen::write(n.next);
    n.next->link = n.link;
  }
  template <class F>
  void walk(std::uint32_t page, F f) const {
    for (const Node* n = first_; n != nullptr; n = n->next) {
      Seen::read(n);
      if (n->pages.has(page)) f(*n);
    }
  }
  bool is_empty() const noexcept { return first_ == nullptr; }

 private:
  Node* first_ = nullptr;
};
using Chain = BasicChain<>;

}  // namespace bench
