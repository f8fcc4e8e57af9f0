/// @file
/// A sorted set of items as an unbalanced search tree, the Citrus tree under Read-Log-Update
/// (rlu.h): items are in inner nodes, too, and a removed node's place goes to its successor. C++20.
///
/// Papers: M. Arbel, H. Attiya, "Concurrent updates with RCU: search tree as an example" (PODC
///   2014); Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.5.
///
/// Each function is its own section, or a part of the section that is passed: see rlu_list.hpp.
//
// Idea: an update locks the nodes whose links it changes, and the nodes that it removes. So two
//   updates that decide by the same link conflict at the node that has it. An insertion uses an
//   empty link of the node that it locks, and that link stays the right one for its item unless a
//   removal moves the node (as a successor), which locks it.
// Deviations: none of the RCU tree's marks and tags is needed, as in the paper's listing 4. The
//   lines shown there don't lock the node before the removed one.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {

/// A sorted set of unique items as an unbalanced search tree (Matveev and others, section 4.5). The
/// tree's height is O(log n) if items come in random order, and n at worst. Thread-safe, except for
/// the constructor and destructor. Readers take no lock and never wait.
template <object T, order_of<T> Less = std::less<T>>
class citrus : public set_functions<citrus<T, Less>, T> {
  struct node;
  struct fork {
    link<node> child[2];
  };
  struct node : fork {
    T item{};
  };
  using own = set_functions<citrus, T>;
  friend own;

 public:
  /// An item that will be inserted, for the functions with a section.
  using entry = rlu::entry<node, T>;
  using own::clear;
  using own::contains;
  using own::find;
  using own::insert;
  using own::insert_or_assign;
  using own::remove;

  /// Makes an empty tree, whose changes are not deferred.
  explicit citrus(Less less = {}) : own(nullptr), less_(std::move(less)) {}
  /// The same in a domain, which may defer changes.
  explicit citrus(domain& of, Less less = {}) : own(&of), less_(std::move(less)) {}
  citrus(const citrus&) = delete;
  citrus& operator=(const citrus&) = delete;
  /// Must not be called in a section. No other thread may use the tree any more.
  ~citrus() {
    detail::let_all_take_effect();
    for (node* n = root_.get()->child[0].get(); n != nullptr;) {
      // Needs no stack: each left child is moved to the top until there is none.
      if (node* const l = n->child[0].get(); l != nullptr) {
        n->child[0] = l->child[1];
        l->child[1] = n;
        n = l;
      } else {
        node* const next = n->child[1].get();
        discard(n);
        n = next;
      }
    }
  }

  /// Calls f(item) for each item, in order, for one state of the tree. Throws std::bad_alloc.
  template <class F>
  void for_each(F f) const {
    const detail::reading here;
    walk([](const T&) { return false; },
         [&f](const node* n) {
           f(n->item);
           return true;
         });
  }
  /// Calls f(item), in order, for the items from `first` on that are less than `end`, of one state
  /// of the tree. Throws std::bad_alloc.
  template <class F>
  void for_each_between(const T& first, const T& end, F f) const {
    const detail::reading here;
    walk([this, &first](const T& item) { return less_(item, first); },
         [this, &end, &f](const node* n) {
           if (!less_(n->item, end)) return false;
           f(n->item);
           return true;
         });
  }

  /// Inserts the item in the caller's section, which makes the change if it is committed. Returns
  /// nothing if the caller must abort the section and begin again. Otherwise returns false if an
  /// equal item is there.
  [[nodiscard]] std::optional<bool> insert(section& here, entry& fresh) {
    own::join(here);
    const place p = at(fresh.item());
    return p.at != nullptr ? std::optional(false) : insert_at(here, p, fresh);
  }
  /// Inserts the item, or replaces an equal one, in which case it returns false. Works like
  /// insert().
  [[nodiscard]] std::optional<bool> insert_or_assign(section& here, entry& fresh) {
    own::join(here);
    place p = at(fresh.item());
    if (p.at == nullptr) return insert_at(here, p, fresh);
    if (!here.lock(p.at)) return std::nullopt;
    p.at->item = fresh.item();
    return false;
  }
  /// Removes the item. Returns false if it is not there. Works like insert().
  [[nodiscard]] std::optional<bool> remove(section& here, const T& item) {
    own::join(here);
    place p = at(item);
    if (p.at == nullptr) return false;
    if (!here.lock(p.parent) || !here.lock_const(p.at)) return std::nullopt;
    for (int empty = 0; empty < 2; ++empty) {
      if (p.at->child[empty].get() != nullptr) continue;
      p.parent->child[p.side] = p.at->child[1 - empty];
      here.free(p.at);
      return true;
    }
    return replace_by_successor(here, p);
  }
  /// Removes all items. Works like insert(). Throws std::bad_alloc.
  [[nodiscard]] std::optional<bool> clear(section& here) {
    own::join(here);
    fork* root = dereference(root_.get());
    if (root->child[0].get() == nullptr) return true;
    if (!here.lock(root)) return std::nullopt;
    // A walk has passed a node's left child, and holds its right one, when it comes to the node.
    const bool done = walk([](const T&) { return false; },
                           [&here](const node* n) {
                             auto* gone = const_cast<node*>(n);
                             if (!here.lock_const(gone)) return false;
                             here.free(gone);
                             return true;
                           });
    if (!done) return std::nullopt;
    root->child[0] = nullptr;
    return true;
  }

 private:
  // Where an item is (`at`), or would be: at link `side` of `parent`.
  struct place {
    fork* parent;
    int side;
    node* at;
  };
  place at(const T& item) const {
    place p{dereference(root_.get()), 0, nullptr};
    for (node* n = p.parent->child[0].read(); n != nullptr; n = n->child[p.side].read()) {
      const bool is_right = less_(n->item, item);
      if (!is_right && !less_(item, n->item)) {
        p.at = n;
        break;
      }
      p.parent = n;
      p.side = is_right ? 1 : 0;
    }
    return p;
  }
  static std::optional<bool> insert_at(section& here, place p, entry& fresh) {
    if (!here.lock(p.parent)) return std::nullopt;
    node* const n = fresh.node();
    n->child[0] = nullptr;
    n->child[1] = nullptr;
    p.parent->child[p.side] = n;
    return true;
  }
  const T* look(const T& item) const {
    const node* const n = at(item).at;
    return n != nullptr ? &n->item : nullptr;
  }
  // Calls f(node) in order while it returns true, and returns whether it always has. Skips items
  // for which is_left_out(item) is true; it must be true for all items before them, too.
  template <class Out, class F>
  bool walk(const Out& is_left_out, const F& f) const {
    std::vector<const node*> path;
    const node* n = dereference(root_.get())->child[0].read();
    while (n != nullptr || !path.empty()) {
      while (n != nullptr) {
        const bool out = is_left_out(n->item);
        if (!out) path.push_back(n);
        n = n->child[out ? 1 : 0].read();
      }
      if (path.empty()) break;
      n = path.back();
      path.pop_back();
      if (!f(n)) return false;
      n = n->child[1].read();
    }
    return true;
  }
  // Replaces a node with two children by the leftmost node below its right child.
  std::optional<bool> replace_by_successor(section& here, place p) {
    fork* parent = p.at;
    node* successor = p.at->child[1].read();
    for (node* n = successor->child[0].read(); n != nullptr; n = n->child[0].read()) {
      parent = successor;
      successor = n;
    }
    if (!here.lock(successor)) return std::nullopt;
    if (parent != p.at) {
      if (!here.lock(parent)) return std::nullopt;
      parent->child[0] = successor->child[1];
      successor->child[1] = p.at->child[1];
    }
    successor->child[0] = p.at->child[0];
    p.parent->child[p.side] = successor;
    here.free(p.at);
    return true;
  }

  mutable embedded<fork> root_;  // the tree is its first child
  [[no_unique_address]] Less less_;
};

}  // namespace lockswap::rlu
