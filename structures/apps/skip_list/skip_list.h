// What the skip lists have in common: nodes, the search, contains().
//
// Paper: M. Herlihy, Y. Lev, V. Luchangco, N. Shavit, "A Simple Optimistic Skiplist Algorithm",
//   SIROCCO 2007.
// Idea: a sorted list with shortcuts. A search looks at no lock and never delays another thread.
//   An insertion or removal searches, locks what it will change, and checks that this is still as
//   the search found it. If so it changes it, else it starts again.
// Invariants: the list of each level is a part of the one below. A node counts as in the set from
//   fully_linked until marked. A marked node's links do not change.
// Order: what a thread reads of a node was released by the link that led to it. Marks are seen
//   through loads that acquire; what locks protect is ordered by them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include "common/random.h"
#include "skip_list/memory.h"

namespace bench {

inline constexpr int kMostLevels = 24;  // of 16 million keys

// Extra: what the way of locking needs in each node.
template <class Extra>
struct SkipListNode {
  std::uint32_t key;
  [[no_unique_address]] Extra extra{};
  std::uint8_t levels;
  std::atomic<bool> marked{false};
  std::atomic<bool> fully_linked{false};

  using Link = std::atomic<SkipListNode*>;
  SkipListNode(std::uint32_t k, int n) noexcept : key(k), levels(static_cast<std::uint8_t>(n)) {
    for (int i = 0; i < n; ++i)
      new (&links()[i]) Link(nullptr);
  }
  Link& next(int level) noexcept { return links()[level]; }

  static std::size_t bytes(int levels) noexcept {
    return kHead + static_cast<std::size_t>(levels) * sizeof(Link);
  }

 private:
  static constexpr std::size_t kHead =
      (sizeof(std::uint32_t) + (std::is_empty_v<Extra> ? 0 : sizeof(Extra)) + 3 + 7) / 8 * 8;
  Link* links() noexcept {
    return std::launder(reinterpret_cast<Link*>(reinterpret_cast<std::byte*>(this) + kHead));
  }
};

template <class Extra>
class SkipListBase {
 public:
  using Node = SkipListNode<Extra>;
  using Owner = SkipListMemory::Owner;
  // Keys from 1 to this.
  static constexpr std::uint32_t kMostKey = std::numeric_limits<std::uint32_t>::max() - 2;

  // What a thread needs to use the list. It must not outlive the list.
  struct Hand {
    Hand(SkipListBase& list, std::uint64_t seed) : memory(list.memory_), random(seed) {}
    Owner memory;
    Random random;
    // Sums of the nodes that it has inserted, less those that it has removed.
    std::int64_t nodes = 0;
    std::int64_t bytes = 0;
  };

  SkipListBase() : first_hand_(*this, 0) {
    head_ = make(first_hand_, 0, kMostLevels);
    tail_ = make(first_hand_, kMostKey + 1, kMostLevels);
    for (int i = 0; i < kMostLevels; ++i)
      head_->next(i).store(tail_, std::memory_order_relaxed);
    head_->fully_linked.store(true);
    tail_->fully_linked.store(true);
  }
  SkipListBase(const SkipListBase&) = delete;
  SkipListBase& operator=(const SkipListBase&) = delete;

  bool contains(Hand& hand, std::uint32_t key) {
    const Walk walk(hand);
    Node* before = head_;
    Node* n = nullptr;
    for (int level = kMostLevels - 1; level >= 0; --level) {
      n = before->next(level).load(std::memory_order_acquire);
      while (n->key < key) {
        before = n;
        n = before->next(level).load(std::memory_order_acquire);
      }
      if (n->key == key) break;
    }
    return n->key == key && is_in(*n);
  }

  // Calls f(key) for each key in order; no thread may change the list meanwhile.
  template <class F>
  void for_each(F f) {
    for (Node* n = head_->next(0).load(); n != tail_; n = n->next(0).load())
      f(n->key);
  }
  // When nobody changes the list: whether each level is in order, and has those nodes of the one
  // below that are high enough, and no others; and how many bytes the nodes have.
  bool is_whole(std::int64_t& bytes) {
    bytes = 0;
    for (Node* n = head_->next(0).load(); n != tail_; n = n->next(0).load())
      bytes += static_cast<std::int64_t>(Node::bytes(n->levels));
    for (int level = 0; level < kMostLevels; ++level) {
      Node* here = head_;
      for (Node* n = head_; n != tail_;) {
        n = n->next(level == 0 ? 0 : level - 1).load();
        if (n->levels <= level) continue;
        Node* next = here->next(level).load();
        if (next != n || next->key <= here->key || next->marked.load()) return false;
        here = next;
      }
    }
    return true;
  }

 protected:
  class Walk {
   public:
    explicit Walk(Hand& hand) noexcept : hand_(hand) { hand_.memory.begin_walk(); }
    ~Walk() { hand_.memory.end_walk(); }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

   private:
    Hand& hand_;
  };

  // At each level the last node before the key, and what follows it.
  struct Place {
    Node* before[kMostLevels];
    Node* after[kMostLevels];
    int found;  // the highest level at which the key is; -1: none
  };

  void search(std::uint32_t key, Place& p) noexcept {
    p.found = -1;
    Node* before = head_;
    for (int level = kMostLevels - 1; level >= 0; --level) {
      Node* n = before->next(level).load(std::memory_order_acquire);
      while (n->key < key) {
        before = n;
        n = before->next(level).load(std::memory_order_acquire);
      }
      if (p.found < 0 && n->key == key) p.found = level;
      p.before[level] = before;
      p.after[level] = n;
    }
  }

  // Inserts a key under what `lock(place, levels)` returns, whose destructor releases. Returns
  // false if the key is there already.
  template <class Lock>
  bool insert_under(Hand& hand, std::uint32_t key, Lock lock) {
    const int levels = random_levels(hand.random);
    {
      const Walk walk(hand);
      Place p;
      for (;;) {
        if (!search_place(key, p)) return false;
        const auto locked = lock(p, levels);
        if (!still_so(p, levels, nullptr)) continue;
        link_in(*make(hand, key, levels), p);
        break;
      }
    }
    inserted(hand, levels);
    return true;
  }

  // Returns false if the key is there. Else where to insert it.
  bool search_place(std::uint32_t key, Place& p) noexcept {
    for (;; step_aside()) {
      search(key, p);
      if (p.found < 0) return true;
      const Node& there = *p.after[p.found];
      if (is_marked(there)) continue;  // about to be removed
      wait_until_linked(there);
      return false;
    }
  }

  static bool is_marked(const Node& n) noexcept { return n.marked.load(std::memory_order_acquire); }
  static bool is_in(const Node& n) noexcept {
    return n.fully_linked.load(std::memory_order_acquire) && !is_marked(n);
  }
  // Found, whole, and found at its full height: it may be removed.
  static bool may_remove(const Node& n, int found) noexcept {
    return is_in(n) && n.levels - 1 == found;
  }
  static void wait_until_linked(const Node& n) noexcept {
    while (!n.fully_linked.load(std::memory_order_acquire))
      step_aside();
  }
  // Gives time to the thread that is changing the node.
  static void step_aside() noexcept { lockswap::Native::step_aside(0); }
  // Whether the links below `levels` are still as found. `victim`: what they lead to.
  static bool still_so(const Place& p, int levels, const Node* victim) noexcept {
    for (int i = 0; i < levels; ++i) {
      Node* before = p.before[i];
      Node* after = victim != nullptr ? const_cast<Node*>(victim) : p.after[i];
      if (is_marked(*before) || (victim == nullptr && is_marked(*after)) ||
          before->next(i).load(std::memory_order_acquire) != after) {
        return false;
      }
    }
    return true;
  }

  void link_in(Node& n, const Place& p) noexcept {
    for (int i = 0; i < n.levels; ++i)
      n.next(i).store(p.after[i], std::memory_order_relaxed);
    // release: the node.
    for (int i = 0; i < n.levels; ++i)
      p.before[i]->next(i).store(&n, std::memory_order_release);
    n.fully_linked.store(true, std::memory_order_release);
  }
  static void unlink(Node& n, const Place& p) noexcept {
    for (int i = n.levels - 1; i >= 0; --i) {
      p.before[i]->next(i).store(n.next(i).load(std::memory_order_acquire),
                                 std::memory_order_release);
    }
  }

  // Each level has half as many nodes as the one below.
  static int random_levels(Random& random) noexcept {
    const std::uint32_t bits = random.next() | 1u << (kMostLevels - 1);
    return 1 + __builtin_ctz(bits);
  }
  Node* make(Hand& hand, std::uint32_t key, int levels) {
    return new (hand.memory.take(Node::bytes(levels))) Node(key, levels);
  }
  void unmake(Hand& hand, Node* n) { hand.memory.give(n, Node::bytes(n->levels)); }
  // (Not of the node: once it is in, another thread may take it out, and use its memory again.)
  static void inserted(Hand& hand, int levels) noexcept {
    ++hand.nodes;
    hand.bytes += static_cast<std::int64_t>(Node::bytes(levels));
  }
  void removed(Hand& hand, Node* n) {
    --hand.nodes;
    hand.bytes -= static_cast<std::int64_t>(Node::bytes(n->levels));
    hand.memory.retire(n, Node::bytes(n->levels));
  }

 private:
  SkipListMemory memory_;
  Hand first_hand_;
  Node* head_;
  Node* tail_;
};

}  // namespace bench
