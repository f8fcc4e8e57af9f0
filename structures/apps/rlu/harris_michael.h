// The Harris-Michael list: sorted, without locks; and a hash table with such a list in each bucket.
//
// Papers: T. Harris, "A Pragmatic Implementation of Non-Blocking Linked-Lists" (DISC 2001);
//   M. Michael, "High Performance Dynamic Lock-Free Hash Tables and List-Based Sets" (SPAA 2002),
//   and "Hazard Pointers" (IEEE TPDS 2004), for the form that frees nodes.
// Idea: a node is removed by a mark in its own link, which keeps others from inserting behind it,
//   and then unlinked, by the first thread that comes by.
// Order: links are read with acquire and changed with release, so a node is whole for a thread that
//   finds it; all else follows from the updates of one link.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

#include "rlu/hazard.h"
#include "rlu/set.h"

namespace bench {

// Reclaim: Hazards or Leak.
template <class Reclaim>
class HarrisMichaelHash {
 public:
  explicit HarrisMichaelHash(std::size_t buckets)
      : buckets_(buckets), heads_(std::make_unique<Link[]>(buckets)) {}
  ~HarrisMichaelHash() {
    for (std::size_t i = 0; i < buckets_; ++i) {
      for (Node* n = node_at(heads_[i].load(kAcquire)); n != nullptr;) {
        Node* const next = node_at(n->next.load(kAcquire));
        std::free(n);
        n = next;
      }
    }
  }
  HarrisMichaelHash(const HarrisMichaelHash&) = delete;
  HarrisMichaelHash& operator=(const HarrisMichaelHash&) = delete;

  static void attach() { Reclaim::attach(); }
  static void flush() { Reclaim::flush(); }

  bool contains(Key key) {
    if constexpr (kHazards) {
      return find(key).found;
    } else {  // nothing is freed: it can walk over nodes that are gone
      const Node* n = node_at(head_of(key).load(kAcquire));
      while (n != nullptr && n->key < key)
        n = node_at(n->next.load(kAcquire));
      return n != nullptr && n->key == key && !is_marked(n->next.load(kAcquire));
    }
  }
  bool insert(Key key) {
    Node* fresh = nullptr;
    for (;;) {
      Place p = find(key);
      if (p.found) {
        std::free(fresh);
        return false;
      }
      if (fresh == nullptr) {
        void* const memory = std::malloc(sizeof(Node));
        if (memory == nullptr) throw std::bad_alloc();
        fresh = ::new (memory) Node{key, {}};
      }
      fresh->next.store(p.at, std::memory_order_relaxed);  // nobody else has it yet
      if (p.link->compare_exchange_strong(p.at, word_of(fresh), kAcqRel)) return true;
    }
  }
  bool remove(Key key) {
    for (;;) {
      Place p = find(key);
      if (!p.found) return false;
      Node* const gone = node_at(p.at);
      std::uintptr_t next = gone->next.load(kAcquire);
      if (is_marked(next)) continue;
      if (!gone->next.compare_exchange_strong(next, next | kMark, kAcqRel)) continue;
      if (p.link->compare_exchange_strong(p.at, next, kAcqRel)) {
        Reclaim::retire(gone);
      } else {
        find(key);  // unlinks it
      }
      return true;
    }
  }
  template <class F>
  void for_each(F f) {
    for (std::size_t i = 0; i < buckets_; ++i) {
      for (const Node* n = node_at(heads_[i].load(kAcquire)); n != nullptr;) {
        const std::uintptr_t next = n->next.load(kAcquire);
        if (!is_marked(next)) f(n->key);
        n = node_at(next);
      }
    }
  }

 private:
  using Link = std::atomic<std::uintptr_t>;
  struct Node {
    Key key;
    Link next;
  };
  struct Place {
    Link* link;
    std::uintptr_t at;  // what it links to: the first node whose key is not less
    bool found;
  };
  static constexpr bool kHazards = std::is_same_v<Reclaim, Hazards>;
  static constexpr std::uintptr_t kMark = 1;  // in the link of a node that is removed
  static constexpr auto kAcquire = std::memory_order_acquire;
  static constexpr auto kAcqRel = std::memory_order_acq_rel;

  static Node* node_at(std::uintptr_t word) noexcept {
    return reinterpret_cast<Node*>(word & ~kMark);
  }
  static std::uintptr_t word_of(const Node* n) noexcept {
    return reinterpret_cast<std::uintptr_t>(n);
  }
  static bool is_marked(std::uintptr_t word) noexcept { return (word & kMark) != 0; }
  Link& head_of(Key key) noexcept { return heads_[bucket_of(key, buckets_)]; }

  // Unlinks the removed nodes on its way. The node with the link and the one found are protected
  // until the next find; a node is protected before the link to it is looked at again, and then it
  // was linked by one that is not removed.
  Place find(Key key) {
    for (;;) {
      Place p{&head_of(key), 0, false};
      if (find_from(p, key)) return p;
    }
  }
  // Returns false if something has changed behind it.
  bool find_from(Place& p, Key key) {
    p.at = p.link->load(kAcquire);
    for (int hazard = 0;; hazard ^= 1) {
      for (;;) {
        Node* const n = node_at(p.at);
        if (n == nullptr) return true;
        if constexpr (kHazards) {
          Hazards::protect(hazard, n);
          if (p.link->load(std::memory_order_seq_cst) != p.at) return false;
        }
        const std::uintptr_t next = n->next.load(kAcquire);
        if (!is_marked(next)) break;
        if (!p.link->compare_exchange_strong(p.at, next & ~kMark, kAcqRel)) return false;
        Reclaim::retire(n);
        p.at = next & ~kMark;
      }
      Node* const n = node_at(p.at);
      if (n->key >= key) {
        p.found = n->key == key;
        return true;
      }
      p.link = &n->next;
      p.at = n->next.load(kAcquire);
      if (is_marked(p.at)) return false;
    }
  }

  std::size_t buckets_;
  std::unique_ptr<Link[]> heads_;
};

template <class Reclaim>
class HarrisMichaelList : public HarrisMichaelHash<Reclaim> {
 public:
  explicit HarrisMichaelList(std::size_t) : HarrisMichaelHash<Reclaim>(1) {}
};

}  // namespace bench
