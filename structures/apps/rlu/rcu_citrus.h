// The Citrus tree on RCU, with a lock in each node.
//
// Papers: M. Arbel, H. Attiya, "Concurrent updates with RCU: search tree as an example" (PODC
//   2014); Matveev and others, "Read-Log-Update" (SOSP 2015), listing 3.
// Idea: an update looks for its place as a reader does, locks the nodes there, and then looks
//   whether they are still what it found: not marked as removed, linked as before; an empty link
//   has a tag besides, which counts how often it became empty. A node with two children is
//   replaced by a copy of its successor; the successor itself goes when no reader can have passed
//   by the place where the copy stands now.
// Deviations: the paper frees nothing. Here call_rcu does; an update stays a reader until it has
//   its locks, so that no node is freed which it is about to lock. What waits for readers is no
//   reader then, but has its nodes locked: a reader that wants one of those locks only tries, and
//   begins again.
#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include "rlu/rcu.h"
#include "rlu/set.h"

namespace bench {

template <class F>
class RcuCitrus : public RcuThreadCalls<F> {
 public:
  explicit RcuCitrus(std::size_t) {}
  ~RcuCitrus() {
    std::vector<Node*> left{root_.child[0]};
    while (!left.empty()) {
      Node* const n = left.back();
      left.pop_back();
      if (n == nullptr) continue;
      left.push_back(n->child[0]);
      left.push_back(n->child[1]);
      delete n;
    }
  }
  RcuCitrus(const RcuCitrus&) = delete;
  RcuCitrus& operator=(const RcuCitrus&) = delete;

  bool contains(Key key) {
    const RcuReading<F> here;
    return look_for(key).at != nullptr;
  }
  bool insert(Key key) {
    Node* fresh = nullptr;
    for (;; relax()) {
      const RcuReading<F> here;
      const Place p = look_for(key);
      if (p.at != nullptr) {
        delete fresh;
        return false;
      }
      const Locked parent(p.parent);
      if (!parent || !is_still(p.parent, p.tag, nullptr, p.side)) continue;
      if (fresh == nullptr) fresh = new Node{key};
      rcu_assign_pointer(p.parent->child[p.side], fresh);
      return true;
    }
  }
  bool remove(Key key) {
    for (;; relax()) {
      Node* gone[2] = {nullptr, nullptr};
      const Outcome o = try_remove(key, gone);
      for (Node* n : gone) {  // without locks: a node must not go before its lock is released
        if (n != nullptr) free_later<F, Freeing::call>(n);
      }
      if (o != Outcome::again) return o == Outcome::removed;
    }
  }
  // In order.
  template <class Function>
  void for_each(Function f) {
    std::vector<const Node*> path;
    const Node* n = root_.child[0];
    while (n != nullptr || !path.empty()) {
      for (; n != nullptr; n = n->child[0])
        path.push_back(n);
      n = path.back();
      path.pop_back();
      f(n->key);
      n = n->child[1];
    }
  }

 private:
  struct Node {
    Key key = 0;
    Node* child[2] = {nullptr, nullptr};
    unsigned tag[2] = {0, 0};  // how often the child became none
    bool is_marked = false;    // removed; under the lock
    std::mutex lock;
    rcu_head head{};

    Node() = default;
    explicit Node(Key k) : key(k) {}
  };
  struct Place {
    Node* parent;
    int side;
    unsigned tag;  // of that side, read before the child
    Node* at;
  };
  enum class Outcome { removed, not_there, again };

  class Locked {
   public:
    Locked() = default;
    explicit Locked(Node* n) { try_lock(n); }
    ~Locked() {
      if (node_ != nullptr) node_->lock.unlock();
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    bool try_lock(Node* n) {
      if (!n->lock.try_lock()) return false;
      node_ = n;
      return true;
    }
    explicit operator bool() const { return node_ != nullptr; }

   private:
    Node* node_ = nullptr;
  };

  static void relax() {
    F::operation_ends();
    std::this_thread::yield();
  }
  static Node* child(const Node* n, int side) { return rcu_dereference(n->child[side]); }
  static unsigned tag(const Node* n, int side) {
    return __atomic_load_n(&n->tag[side], __ATOMIC_ACQUIRE);
  }
  Place look_for(Key key) {
    Place p{&root_, 0, tag(&root_, 0), child(&root_, 0)};
    while (p.at != nullptr && p.at->key != key) {
      p.parent = p.at;
      p.side = p.at->key < key ? 1 : 0;
      p.tag = tag(p.parent, p.side);
      p.at = child(p.parent, p.side);
    }
    return p;
  }
  // Under the locks of both, where there is a `below`.
  static bool is_still(const Node* above, unsigned t, const Node* below, int side) {
    if (above->is_marked || above->child[side] != below) return false;
    return below != nullptr ? !below->is_marked : above->tag[side] == t;
  }
  // Under the lock of `above`.
  static void link(Node* above, int side, Node* below) {
    if (below == nullptr)
      __atomic_store_n(&above->tag[side], above->tag[side] + 1, __ATOMIC_RELEASE);
    rcu_assign_pointer(above->child[side], below);
  }

  Outcome try_remove(Key key, Node* (&gone_nodes)[2]) {
    // In the order in which they are unlocked, the last first.
    Locked parent;
    Locked gone;
    Locked above;  // the successor
    Locked successor;
    Locked copy;
    Place p;
    Node* before = nullptr;  // the successor's parent
    Node* next = nullptr;    // the successor
    {
      const RcuReading<F> here;
      p = look_for(key);
      if (p.at == nullptr) return Outcome::not_there;
      if (!parent.try_lock(p.parent) || !gone.try_lock(p.at)) return Outcome::again;
      if (!is_still(p.parent, 0, p.at, p.side)) return Outcome::again;
      if (p.at->child[0] == nullptr || p.at->child[1] == nullptr) {
        p.at->is_marked = true;
        link(p.parent, p.side, p.at->child[p.at->child[0] == nullptr ? 1 : 0]);
      } else {
        before = p.at;
        int side = 1;
        next = child(before, 1);
        unsigned empty = tag(next, 0);
        for (Node* n = child(next, 0); n != nullptr; n = child(n, 0)) {
          before = next;
          side = 0;
          next = n;
          empty = tag(next, 0);
        }
        if (before != p.at && !above.try_lock(before)) return Outcome::again;
        if (!successor.try_lock(next)) return Outcome::again;
        if (!is_still(before, 0, next, side) || !is_still(next, empty, nullptr, 0))
          return Outcome::again;
      }
    }
    if (next != nullptr) {
      auto* const fresh = new Node(next->key);
      fresh->child[0] = p.at->child[0];
      fresh->child[1] = p.at->child[1];
      copy.try_lock(fresh);
      p.at->is_marked = true;
      link(p.parent, p.side, fresh);
      F::synchronize();  // then each reader finds the copy first, or has left
      next->is_marked = true;
      if (before == p.at) {
        link(fresh, 1, next->child[1]);
      } else {
        link(before, 0, next->child[1]);
      }
      gone_nodes[1] = next;
    }
    gone_nodes[0] = p.at;
    return Outcome::removed;
  }

  Node root_;  // the tree is its first child
};

}  // namespace bench
