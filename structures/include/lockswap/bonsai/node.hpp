// Nodes of the Bonsai tree (lockswap/bonsai.hpp), and how a reader searches them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// @cond private
namespace lockswap::bonsai {

// kInPlace: child pointers may change while readers can see the node.
template <class Key, class Value, class Less, class P, bool kInPlace>
struct node {
  typename P::template plain<Key> key;
  typename P::template plain<Value> value;
  typename P::template atomic<std::uint64_t> child[2];  // addresses: smaller keys, greater keys
  // For writers only.
  std::uint64_t size;  // of the subtree
  union {
    std::uint64_t made;  // in the tree: the step in which it was made
    node* below;         // otherwise: the next one in a stack
  };

  // Only writers access what follows, even when no reader can see the node.
  static constexpr std::size_t bytes_for_readers() noexcept { return offsetof(node, size); }

  static node* at(std::uint64_t address) noexcept {
    return reinterpret_cast<node*>(static_cast<std::uintptr_t>(address));
  }
  std::uint64_t address() const noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(this));
  }

  node* next(int side) const noexcept {
    if constexpr (kInPlace) {
      // acquire: the new nodes; pairs with show_child.
      return at(child[side].load(std::memory_order_acquire));
    } else {
      // relaxed: a node that readers see does not change, and loading the root has acquired it.
      return at(child[side].load(std::memory_order_relaxed));
    }
  }

  // --- from a root, which may be null
  static const node* find(const node* n, const Key& wanted, const Less& less) {
    while (n != nullptr) {
      const Key k = n->key.get();
      if (less(wanted, k)) {
        n = n->next(0);
      } else if (less(k, wanted)) {
        n = n->next(1);
      } else {
        break;
      }
    }
    return n;
  }
  // Returns the key's own node, or the nearest one on that side: 0 below the key, 1 above it.
  static const node* nearest(const node* n, const Key& wanted, int side, const Less& less) {
    const node* best = nullptr;
    while (n != nullptr) {
      const Key k = n->key.get();
      const bool is_below = less(k, wanted);
      if (!is_below && !less(wanted, k)) return n;
      if (is_below == (side == 0)) best = n;
      n = n->next(is_below ? 1 : 0);
    }
    return best;
  }
};

template <class Node>
std::uint64_t size_of(const Node* n) noexcept {
  return n == nullptr ? 0 : n->size;
}
// An empty subtree has a weight too, so that a balance with it is defined.
template <class Node>
std::uint64_t weight_of(const Node* n) noexcept {
  return size_of(n) + 1;
}

}  // namespace lockswap::bonsai
/// @endcond
