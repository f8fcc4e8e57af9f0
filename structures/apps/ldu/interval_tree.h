// Mappings of a file, in a tree that finds those that have a page; for one thread. It is a treap
// (R. Seidel, C. Aragon, "Randomized Search Trees", 1996) with the greatest last page of each
// subtree, where Linux has a red-black tree with the same.
#pragma once

#include <cstdint>

#include "ldu/mapping.h"

namespace bench {

template <class Seen = Unseen>
class BasicIntervalTree {
 public:
  struct Node : Seen::Home, Counted {
    Pages pages;

   private:
    friend class BasicIntervalTree;
    Node* child[2] = {};
    std::uint32_t priority = 0;
    std::uint32_t last = 0;  // the greatest in this subtree
  };

  void insert(Node& n) noexcept {
    n.child[0] = n.child[1] = nullptr;
    n.priority = static_cast<std::uint32_t>((address(n) * 0x9E3779B97F4A7C15u) >> 32);
    n.last = n.pages.last;
    Node** place = &root_;
    for (; *place != nullptr && seen(**place).priority >= n.priority; place = &below(**place, n)) {
      if (n.last <= (*place)->last) continue;
      Seen::write(*place);
      (*place)->last = n.last;
    }
    split(*place, n, n.child[0], n.child[1]);
    *place = &n;
    renew(n);
  }
  void remove(Node& n) noexcept { take_out(root_, n); }
  template <class F>
  void walk(std::uint32_t page, F f) const {
    walk(root_, page, f);
  }
  bool is_empty() const noexcept { return root_ == nullptr; }

 private:
  static const Node& seen(const Node& n) {
    Seen::read(&n);
    return n;
  }
  static std::uint64_t address(const Node& n) noexcept {
    return reinterpret_cast<std::uintptr_t>(&n);
  }
  static bool is_before(const Node& a, const Node& b) noexcept {
    if (a.pages.first != b.pages.first) return a.pages.first < b.pages.first;
    return address(a) < address(b);
  }
  static Node*& below(Node& at, const Node& n) noexcept {
    return at.child[is_before(at, n) ? 1 : 0];
  }
  static void renew(Node& n) noexcept {
    Seen::write(&n);
    n.last = n.pages.last;
    for (const Node* c : n.child) {
      if (c != nullptr && seen(*c).last > n.last) n.last = c->last;
    }
  }
  static void split(Node* t, const Node& by, Node*& less, Node*& more) noexcept {
    if (t == nullptr) {
      less = more = nullptr;
      return;
    }
    if (is_before(seen(*t), by)) {
      less = t;
      split(t->child[1], by, t->child[1], more);
    } else {
      more = t;
      split(t->child[0], by, less, t->child[0]);
    }
    renew(*t);
  }
  static Node* join(Node* less, Node* more) noexcept {
    if (less == nullptr || more == nullptr) return less == nullptr ? more : less;
    if (seen(*less).priority >= seen(*more).priority) {
      less->child[1] = join(less->child[1], more);
      renew(*less);
      return less;
    }
    more->child[0] = join(less, more->child[0]);
    renew(*more);
    return more;
  }
  static void take_out(Node*& t, Node& n) noexcept {
    if (t == &n) {
      t = join(n.child[0], n.child[1]);
      return;
    }
    Seen::read(t);
    take_out(below(*t, n), n);
    renew(*t);
  }
  template <class F>
  static void walk(const Node* t, std::uint32_t page, F& f) {
    for (; t != nullptr && seen(*t).last >= page; t = t->child[1]) {
      walk(t->child[0], page, f);
      if (t->pages.first > page) return;
      if (t->pages.last >= page) f(*t);
    }
  }

  Node* root_ = nullptr;
};
using IntervalTree = BasicIntervalTree<>;

}  // namespace bench
