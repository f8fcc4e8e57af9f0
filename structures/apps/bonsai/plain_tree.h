// A search tree of the Bonsai tree's shape on liburcu's own interface: what a program would write
// that has liburcu and no lockswap. The searches of bonsai.hpp are measured beside its.
//
// Idea: nodes never change; an update makes the way to the root anew, and call_rcu frees the old
//   one in batches. Balance by the same rule as bonsai.hpp, so the same keys give the same shape.
//   Nodes have the same size as there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "bonsai/shape.h"
#include "common/report.h"
#include "rlu/rcu.h"

namespace bench {

template <class F>
class PlainTree {
 public:
  struct Hand {
    Hand(PlainTree&, unsigned) {}
  };
  static void attach() { F::attach(); }
  ~PlainTree() {
    delete old_;
    F::barrier();
    destroy(root_);
  }

  bool contains(Hand&, std::uint32_t key) {
    const RcuReading<F> here;
    return find(rcu_dereference(root_), key) != nullptr;
  }
  // By attached threads.
  bool insert(Hand&, std::uint32_t key) {
    const std::lock_guard lock(mutex_);
    if (find(root_, key) != nullptr) return false;
    show(with(root_, key));
    return true;
  }
  bool erase(Hand&, std::uint32_t key) {
    const std::lock_guard lock(mutex_);
    if (find(root_, key) == nullptr) return false;
    show(without(root_, key));
    return true;
  }
  Shape shape() {
    Shape s;
    s.regions = count(root_, 0, std::uint64_t{1} << 32, s.height);
    s.garbage = static_cast<double>(garbage_) / static_cast<double>(updates_);
    return s;
  }

 private:
  struct Node {
    std::uint32_t key;
    std::uint32_t value;
    Node* child[2];
    std::uint64_t size;
    std::uint64_t unused;  // as large as the other tree's
  };
  struct Batch {
    std::vector<Node*> nodes;
    rcu_head head{};
    Batch() = default;
    ~Batch() {
      for (Node* n : nodes)
        delete n;
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
  };
  static constexpr std::size_t kBatch = 512;

  static const Node* find(const Node* n, std::uint32_t key) {
    while (n != nullptr) {
      if (key < n->key) {
        n = n->child[0];
      } else if (n->key < key) {
        n = n->child[1];
      } else {
        break;
      }
    }
    return n;
  }
  static std::uint64_t weight(const Node* n) { return n == nullptr ? 1 : n->size + 1; }
  static Node* made(const Node* as, int side, Node* one, Node* other) {
    auto* n = new Node{as->key, as->value, {}, weight(one) + weight(other) - 1, 0};
    n->child[side] = one;
    n->child[1 - side] = other;
    return n;
  }
  // A node as `n` with `one` on that side: n itself goes.
  Node* rebuilt(Node* n, int side, Node* one) {
    Node* other = n->child[1 - side];
    drop(n);
    if (weight(one) > 3 * weight(other)) return rotated(n, side, one, other);
    if (weight(other) > 3 * weight(one)) return rotated(n, 1 - side, other, one);
    return made(n, side, one, other);
  }
  Node* rotated(const Node* n, int side, Node* heavy, Node* light) {
    Node* inner = heavy->child[1 - side];
    Node* outer = heavy->child[side];
    drop(heavy);
    if (weight(inner) < 2 * weight(outer))
      return made(heavy, side, outer, made(n, side, inner, light));
    drop(inner);
    return made(inner, side, made(heavy, side, outer, inner->child[side]),
                made(n, side, inner->child[1 - side], light));
  }
  Node* with(Node* n, std::uint32_t key) {
    if (n == nullptr) return new Node{key, key, {}, 1, 0};
    const int side = key < n->key ? 0 : 1;
    return rebuilt(n, side, with(n->child[side], key));
  }
  Node* without(Node* n, std::uint32_t key) {
    if (key != n->key) {
      const int side = key < n->key ? 0 : 1;
      return rebuilt(n, side, without(n->child[side], key));
    }
    drop(n);
    if (n->child[0] == nullptr) return n->child[1];
    if (n->child[1] == nullptr) return n->child[0];
    const int side = n->child[0]->size < n->child[1]->size ? 1 : 0;
    Node* next = n->child[side];  // takes n's place: the end of the heavier side
    while (next->child[1 - side] != nullptr)
      next = next->child[1 - side];
    return made(next, side, without(n->child[side], next->key), n->child[1 - side]);
  }

  void drop(Node* n) { old_->nodes.push_back(n); }
  void show(Node* root) {
    garbage_ += old_->nodes.size() - std::exchange(kept_, 0);
    rcu_assign_pointer(root_, root);
    ++updates_;
    if (old_->nodes.size() >= kBatch) {
      free_later<F, Freeing::call>(std::exchange(old_, new Batch));
    } else {
      kept_ = old_->nodes.size();
    }
  }

  static void destroy(Node* n) {
    if (n == nullptr) return;
    destroy(n->child[0]);
    destroy(n->child[1]);
    delete n;
  }
  static std::uint64_t count(const Node* n, std::uint64_t low, std::uint64_t high, int& height) {
    if (n == nullptr) return 0;
    if (n->key < low || n->key >= high) wrong_result("the tree is out of order");
    int heights[2] = {0, 0};
    const std::uint64_t size = 1 + count(n->child[0], low, n->key, heights[0]) +
                               count(n->child[1], std::uint64_t{n->key} + 1, high, heights[1]);
    const std::uint64_t a = weight(n->child[0]);
    const std::uint64_t b = weight(n->child[1]);
    if (n->size != size || a > 3 * b || b > 3 * a) wrong_result("the tree is out of balance");
    height = 1 + std::max(heights[0], heights[1]);
    return size;
  }

  Node* root_ = nullptr;
  std::mutex mutex_;
  // Under the mutex.
  Batch* old_ = new Batch;
  std::size_t kept_ = 0;  // of the batch, from earlier updates
  std::uint64_t garbage_ = 0;
  std::uint64_t updates_ = 0;
};

}  // namespace bench
