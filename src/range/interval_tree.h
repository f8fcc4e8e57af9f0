// An interval tree: a red-black tree of intervals by their starts, in which each node also has the
// greatest end in its subtree. So it finds all intervals that overlap a given one without visiting
// the others.
//
// Source: T. Cormen and others, "Introduction to Algorithms", chapters 13 and 14.3 (third edition).
// The caller owns the nodes, and lets only one thread at a time use the tree.
// Cost: insert and erase O(log n), for_each_overlap O(log n) for each interval found.
#pragma once

#include <cstdint>

namespace lockswap {

// The base class of Node. The caller sets start and end, which don't change while the node is in a
// tree.
template <class Node>
struct IntervalTreeLinks {
  std::uint64_t start = 0;
  std::uint64_t end = 0;       // greater than start
  std::uint64_t last_end = 0;  // the greatest end in the subtree
  Node* parent = nullptr;
  Node* child[2] = {nullptr, nullptr};  // before, after
  bool red = false;
};

template <class Node>
class IntervalTree {
 public:
  bool empty() const noexcept { return root_ == nullptr; }

  // Inserts a node behind those with an equal start.
  void insert(Node& n) noexcept {
    Node* parent = nullptr;
    int side = 0;
    for (Node* at = root_; at != nullptr; at = at->child[side]) {
      parent = at;
      if (at->last_end < n.end) at->last_end = n.end;
      side = n.start < at->start ? 0 : 1;
    }
    n.last_end = n.end;
    n.parent = parent;
    n.child[0] = n.child[1] = nullptr;
    n.red = true;
    if (parent == nullptr) {
      root_ = &n;
    } else {
      parent->child[side] = &n;
    }
    repair_after_insert(&n);
  }

  void erase(Node& n) noexcept {
    Node* gap_parent;  // the parent of the place that lacks a black node if `black_is_gone`
    Node* gap;
    bool black_is_gone = !n.red;
    if (n.child[0] == nullptr || n.child[1] == nullptr) {
      gap = n.child[n.child[0] == nullptr ? 1 : 0];
      gap_parent = n.parent;
      replace(n, gap);
    } else {
      Node* next = n.child[1];  // the successor takes n's place
      while (next->child[0] != nullptr)
        next = next->child[0];
      black_is_gone = !next->red;
      gap = next->child[1];
      if (next->parent == &n) {
        gap_parent = next;
      } else {
        gap_parent = next->parent;
        replace(*next, gap);
        adopt(*next, 1, n.child[1]);
      }
      replace(n, next);
      adopt(*next, 0, n.child[0]);
      next->red = n.red;
    }
    for (Node* at = gap_parent; at != nullptr; at = at->parent)
      measure(*at);
    if (black_is_gone) repair_after_erase(gap, gap_parent);
  }

  // Calls f(Node&) for each interval that overlaps [start, end), in ascending order of starts. f
  // must not change the tree.
  template <class F>
  void for_each_overlap(std::uint64_t start, std::uint64_t end, F f) const noexcept {
    Node* n = first_below(root_, start, end);
    while (n != nullptr) {
      f(*n);
      n = next_of(n, start, end);
    }
  }

 private:
  static bool is_red(const Node* n) noexcept { return n != nullptr && n->red; }
  static bool reaches(const Node* n, std::uint64_t start) noexcept {
    return n != nullptr && n->last_end > start;
  }

  // Returns the first interval in n's subtree that overlaps [start, end).
  static Node* first_below(Node* n, std::uint64_t start, std::uint64_t end) noexcept {
    while (reaches(n, start)) {
      if (reaches(n->child[0], start)) {
        n = n->child[0];  // an interval there ends late enough, so the first that does is there
        continue;
      }
      if (n->start >= end) return nullptr;
      if (n->end > start) return n;
      n = n->child[1];
    }
    return nullptr;
  }
  static Node* next_of(Node* n, std::uint64_t start, std::uint64_t end) noexcept {
    for (;;) {
      if (reaches(n->child[1], start)) return first_below(n->child[1], start, end);
      Node* came_from;
      do {
        came_from = n;
        n = n->parent;
        if (n == nullptr) return nullptr;
      } while (came_from == n->child[1]);
      if (n->start >= end) return nullptr;
      if (n->end > start) return n;
    }
  }

  static void measure(Node& n) noexcept {
    n.last_end = n.end;
    for (const Node* c : n.child) {
      if (c != nullptr && c->last_end > n.last_end) n.last_end = c->last_end;
    }
  }

  static void adopt(Node& parent, int side, Node* child) noexcept {
    parent.child[side] = child;
    if (child != nullptr) child->parent = &parent;
  }
  // Puts `other` (which may be nullptr) into n's place.
  void replace(Node& n, Node* other) noexcept {
    if (n.parent == nullptr) {
      root_ = other;
    } else {
      n.parent->child[n.parent->child[1] == &n ? 1 : 0] = other;
    }
    if (other != nullptr) other->parent = n.parent;
  }
  // Moves n down to that side. Its child on the other side moves up, and is returned.
  Node* rotate(Node& n, int side) noexcept {
    Node* up = n.child[1 - side];
    replace(n, up);
    adopt(n, 1 - side, up->child[side]);
    adopt(*up, side, &n);
    up->last_end = n.last_end;
    measure(n);
    return up;
  }

  void repair_after_insert(Node* n) noexcept {
    while (is_red(n->parent)) {
      Node* parent = n->parent;
      Node* grand = parent->parent;  // exists, since the root is black
      const int side = parent == grand->child[1] ? 1 : 0;
      Node* uncle = grand->child[1 - side];
      if (is_red(uncle)) {
        parent->red = uncle->red = false;
        grand->red = true;
        n = grand;
        continue;
      }
      if (n == parent->child[1 - side]) parent = rotate(*parent, side);
      parent->red = false;
      grand->red = true;
      rotate(*grand, 1 - side);
      break;
    }
    root_->red = false;
  }

  // n (which may be nullptr), a child of `parent`, has one black node fewer on its paths than its
  // sibling.
  void repair_after_erase(Node* n, Node* parent) noexcept {
    while (n != root_ && !is_red(n)) {
      const int side = parent->child[1] == n ? 1 : 0;
      Node* sibling = parent->child[1 - side];  // exists, since it has the black node
      if (sibling->red) {
        sibling->red = false;
        parent->red = true;
        rotate(*parent, side);
        sibling = parent->child[1 - side];
      }
      if (!is_red(sibling->child[0]) && !is_red(sibling->child[1])) {
        sibling->red = true;
        n = parent;
        parent = n->parent;
        continue;
      }
      if (!is_red(sibling->child[1 - side])) {
        sibling->child[side]->red = false;
        sibling->red = true;
        sibling = rotate(*sibling, 1 - side);
      }
      sibling->red = parent->red;
      parent->red = false;
      sibling->child[1 - side]->red = false;
      rotate(*parent, side);
      return;
    }
    if (n != nullptr) n->red = false;
  }

  Node* root_ = nullptr;
};

}  // namespace lockswap
