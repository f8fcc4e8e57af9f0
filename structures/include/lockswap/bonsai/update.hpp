// How the Bonsai tree (lockswap/bonsai.hpp) changes.
//
// Paper: as there, figures 5 to 8. Each function returns the subtree that replaces the one that it
//   was given, from the place of the change up to the root.
// In place (kInPlace): a node that keeps its shape gets the new child by one store, which readers
//   see at once. So an update's first such store changes the tree, and everything that it leads to
//   is complete by then. The stores after it replace nodes by copies with the same keys below. The
//   path to the node that takes an erased one's place is always copied, because in place, readers
//   would see it gone before it is back.
// Deviations: weights are sizes + 1, so an empty side counts (figure 6 never rotates next to one).
//   Nodes are passed to the domain after the root was stored, not before. Nodes that no reader has
//   seen are reused at once.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockswap/bonsai/memory.hpp"
#include "lockswap/bonsai/node.hpp"

/// @cond private
namespace lockswap::bonsai {

// The heavier of two subtrees weighs at most kDelta times the other one. A rotation is double if
// the inner part of the heavy subtree weighs at least kGamma times the outer one. This pair of
// numbers preserves the balance, which most others do not (Y. Hirai, K. Yamamoto, JFP 21(3), 2011).
//
// Proof that a rotation restores the balance. Let a be the weight of the light side, b and c those
// of the heavy side's inner and outer part. Something became too heavy, so b + c > 3a, and by one
// update, so b + c <= 3a + 3. The parts are in balance, so b <= 3c and c <= 3b.
// Single (b < 2c): the new siblings are a with b, and a + b with c.
//   b <= 3a        from c >= (b + 1)/2 comes 3b + 1 <= 2(b + c) <= 6a + 6, so b <= 2a + 1
//   a <= 3b        3a < b + c <= 4b
//   c <= 3(a + b)  from c <= 3b
//   a + b <= 3c    3a + 3b < 4b + c, and with b <= 2c - 1 that is below 9c
// Double (b >= 2c, so the inner part is not empty, and b = x + y, with x <= 3y and y <= 3x): the
// new siblings are a with x, y with c, and a + x with y + c.
//   x <= 3a        b <= 3(b + c)/4 <= 9(a + 1)/4 and x <= 3b/4, so x <= 27(a + 1)/16, which is at
//                  most 3a from a = 2 on. For a = 1, b + c <= 6, so b <= 4 and x <= 3
//   a <= 3x        3a < b + c <= 3b/2, and x >= b/4, so a < 2x
//   y <= 3c        y <= 3b/4 <= 9c/4
//   c <= 3y        c <= b/2 <= 2y
//   a + x <= 3(y + c)  a < (b + c)/3 and 4x <= 3b; it is enough that 3b <= 8(b + c)/3, or b <= 8c
//   y + c <= 3(a + x)  3a >= b + c - 3, so it is enough that y <= b - 3 + 3x, or 4x >= 3
// An erased node with two children is replaced by its neighbour on the heavier side, which then
// still weighs at least a third of the other.
inline constexpr std::uint64_t kDelta = 3, kGamma = 2;

template <class Node, class Memory, bool kInPlace>
class update {
 public:
  explicit update(Memory& memory) noexcept : memory_(memory) {}

  // If the key is not there.
  template <class Key, class Value, class Less>
  Node* inserted(Node* n, const Key& key, const Value& value, const Less& less) {
    if (n == nullptr) return make(key, value, 0, nullptr, nullptr);
    const int side = less(key, n->key.get()) ? 0 : 1;
    return rebuilt(n, side, inserted(n->next(side), key, value, less));
  }
  // If the key is there.
  template <class Key, class Value, class Less>
  Node* assigned(Node* n, const Key& key, const Value& value, const Less& less) {
    const Key k = n->key.get();
    if (!less(key, k) && !less(k, key)) {
      Node* out = make(k, value, 0, n->next(0), n->next(1));
      memory_.drop(n);
      return out;
    }
    const int side = less(key, k) ? 0 : 1;
    return rebuilt(n, side, assigned(n->next(side), key, value, less));
  }
  template <class Key, class Less>
  Node* erased(Node* n, const Key& key, const Less& less) {
    const Key k = n->key.get();
    if (!less(key, k) && !less(k, key)) return without(n);
    const int side = less(key, k) ? 0 : 1;
    return rebuilt(n, side, erased(n->next(side), key, less));
  }

 private:
  // `one` is the child on that side.
  template <class Key, class Value>
  Node* make(const Key& key, const Value& value, int side, Node* one, Node* other) noexcept {
    Node* n = memory_.make(key, value);
    // relaxed: no reader sees the node before a release store leads to it.
    n->child[side].store(one == nullptr ? 0 : one->address(), std::memory_order_relaxed);
    n->child[1 - side].store(other == nullptr ? 0 : other->address(), std::memory_order_relaxed);
    n->size = 1 + size_of(one) + size_of(other);
    return n;
  }
  Node* copy(const Node* n, int side, Node* one, Node* other) noexcept {
    return make(n->key.get(), n->value.get(), side, one, other);
  }

  // Returns n with another child on that side (figure 6).
  Node* rebuilt(Node* n, int side, Node* changed) noexcept {
    Node* other = n->next(1 - side);
    if (is_too_heavy(changed, other)) return rotated(n, side, changed, other);
    if (is_too_heavy(other, changed)) return rotated(n, 1 - side, other, changed);
    if constexpr (kInPlace) {
      show_child(n, side, changed);
      n->size = 1 + size_of(changed) + size_of(other);
      return n;
    } else {
      return replaced(n, side, changed, other);
    }
  }
  Node* replaced(Node* n, int side, Node* one, Node* other) noexcept {
    Node* out = copy(n, side, one, other);
    memory_.drop(n);
    return out;
  }
  void show_child(Node* n, int side, Node* changed) noexcept {
    if (n->next(side) == changed) return;
    // release: the new nodes; pairs with next.
    n->child[side].store(changed == nullptr ? 0 : changed->address(), std::memory_order_release);
    memory_.begin_step();
  }

  static bool is_too_heavy(const Node* heavy, const Node* light) noexcept {
    return weight_of(heavy) > kDelta * weight_of(light);
  }
  // A rotation towards the light side (figures 7 and 8), out of new nodes.
  Node* rotated(Node* n, int heavy_side, Node* heavy, Node* light) noexcept {
    const int light_side = 1 - heavy_side;
    Node* inner = heavy->next(light_side);
    Node* outer = heavy->next(heavy_side);
    Node* out;
    if (weight_of(inner) < kGamma * weight_of(outer)) {
      out = copy(heavy, light_side, copy(n, light_side, light, inner), outer);
      ++memory_.own_counts().single_rotations;
    } else {
      Node* near = copy(n, light_side, light, inner->next(light_side));
      Node* far = copy(heavy, light_side, inner->next(heavy_side), outer);
      out = copy(inner, light_side, near, far);
      memory_.drop(inner);
      ++memory_.own_counts().double_rotations;
    }
    memory_.drop(heavy);
    memory_.drop(n);
    return out;
  }

  // Returns n's subtree without n. The heavier side provides the node that takes n's place, so the
  // two stay balanced.
  Node* without(Node* n) noexcept {
    Node* const smaller = n->next(0);
    Node* const greater = n->next(1);
    Node* out;
    if (smaller == nullptr || greater == nullptr) {
      out = smaller == nullptr ? greater : smaller;
    } else {
      const int side = smaller->size < greater->size ? 1 : 0;
      Node* nearest = nullptr;
      Node* rest = without_end(side == 0 ? smaller : greater, 1 - side, nearest);
      out = copy(nearest, side, rest, side == 0 ? greater : smaller);
      memory_.drop(nearest);
    }
    memory_.drop(n);
    return out;
  }
  // Returns n's subtree without its last node on that side, made of new nodes.
  Node* without_end(Node* n, int side, Node*& last) noexcept {
    if (n->next(side) == nullptr) {
      last = n;
      return n->next(1 - side);
    }
    Node* rest = without_end(n->next(side), side, last);
    Node* other = n->next(1 - side);
    if (is_too_heavy(other, rest)) return rotated(n, 1 - side, other, rest);
    return replaced(n, side, rest, other);
  }

  Memory& memory_;
};

// Returns whether each subtree is in order, balanced and of the recorded size. `last`: the node
// before it.
template <class Node, class Less>
bool is_whole(const Node* n, const Node*& last, int& height, const Less& less) {
  height = 0;
  if (n == nullptr) return true;
  const Node* sides[] = {n->next(0), n->next(1)};
  int heights[2];
  if (!is_whole(sides[0], last, heights[0], less)) return false;
  if (last != nullptr && !less(last->key.get(), n->key.get())) return false;
  last = n;
  if (!is_whole(sides[1], last, heights[1], less)) return false;
  height = 1 + (heights[0] > heights[1] ? heights[0] : heights[1]);
  const std::uint64_t weights[] = {weight_of(sides[0]), weight_of(sides[1])};
  return weights[0] <= kDelta * weights[1] && weights[1] <= kDelta * weights[0] &&
         n->size + 1 == weights[0] + weights[1];
}

}  // namespace lockswap::bonsai
/// @endcond
