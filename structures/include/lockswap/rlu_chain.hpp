// Parts of the sets of rlu_list.hpp, rlu_hash.hpp, rlu_double_list.hpp, rlu_resizable_hash.hpp and
// rlu_citrus.hpp: objects that are parts of something larger, entries, and chains of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "lockswap/rlu.hpp"

namespace lockswap::rlu {

// An object that is a part of something larger, as the head of a chain: it is not allocated or
// freed by itself. What it is a part of may go when no section can see it any more, and when
// nothing that was done to it is deferred.
template <class T>
requires object<T>
class embedded {
 public:
  embedded() noexcept = default;
  embedded(const embedded&) = delete;
  embedded& operator=(const embedded&) = delete;
  [[nodiscard]] T* get() noexcept { return &object_; }

 private:
  static_assert(sizeof(lockswap_rlu_header) == 16);
  alignas(16) lockswap_rlu_header header_{0, sizeof(T)};
  alignas(16) T object_{};  // right behind its header
};

// An item that is to be inserted, with its node. Made before the section that inserts it, since the
// section may be aborted and run again; not used by two threads at once.
template <class Node, class T>
class entry {
 public:
  explicit entry(const T& item) : item_(item) {}
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;
  ~entry() { discard(node_); }
  // To be called when the section has been committed that inserted it.
  void inserted() noexcept { node_ = nullptr; }

  [[nodiscard]] const T& item() const noexcept { return item_; }
  // The same one until inserted(). Throws std::bad_alloc.
  [[nodiscard]] Node* node() {
    if (node_ == nullptr) {
      node_ = make<Node>();
      node_->item = item_;
    }
    return node_;
  }

 private:
  T item_;
  Node* node_ = nullptr;
};

namespace detail {

// A section that only reads. Cheaper than `section`, which may be aborted.
class reading {
 public:
  reading() noexcept { lockswap_rlu_reader_lock(); }
  ~reading() { lockswap_rlu_reader_unlock(); }
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;
};

// Before a whole structure is freed. Not in a section: that is a bug of the caller, which would
// wait for itself.
inline void let_all_take_effect() noexcept { lockswap_rlu_flush_all(); }

// Spreads a hash, whose low or high bits may all be the same, over 32 bits.
inline std::uint32_t mixed(std::size_t hash) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * 0x9E3779B97F4A7C15u) >> 32);
}

// Where a link is: the head of a chain, or a node.
struct joint {
  link<joint> next;
};
template <class T>
struct node_of : joint {
  T item{};
};

// A place in a chain, as a section sees it: `at` is the node looked for, or what follows if it is
// not there (`found` is false; at the chain's end `at` is null); `before` links to `at`.
template <class T>
struct position {
  joint* before;
  node_of<T>* at;
  bool found;
};

// What can be done with a chain from its head, in a section. Two changes of one link meet at the
// place that has it: an insertion locks `before`, a removal locks that and the node.
template <class T>
class chain {
 public:
  using node = node_of<T>;
  using entry = rlu::entry<node, T>;

  static node* after(const joint* p) noexcept { return static_cast<node*>(p->next.read()); }

  // In a chain that is sorted by `less`.
  template <class Less>
  static position<T> find_sorted(joint* head, const T& item, const Less& less) {
    joint* before = dereference(head);
    node* at = after(before);
    while (at != nullptr && less(at->item, item)) {
      before = at;
      at = after(at);
    }
    return {before, at, at != nullptr && !less(item, at->item)};
  }
  // In any chain.
  template <class Equal>
  static position<T> find_any(joint* head, const T& item, const Equal& equal) {
    joint* before = dereference(head);
    node* at = after(before);
    while (at != nullptr && !equal(at->item, item)) {
      before = at;
      at = after(at);
    }
    return {before, at, at != nullptr};
  }

  // Returns true if it was inserted between `before` and `next`. Returns nothing if the caller must
  // abort. Throws std::bad_alloc.
  static std::optional<bool> insert(section& here, joint* before, joint* next, entry& fresh) {
    if (!here.lock(before)) return std::nullopt;
    node* const n = fresh.node();
    n->next = next;
    before->next = n;
    return true;
  }
  // Returns true if it was removed. Returns nothing if the caller must abort.
  static std::optional<bool> remove(section& here, position<T> p) {
    if (!p.found) return false;
    if (!here.lock(p.before) || !here.lock_const(p.at)) return std::nullopt;
    p.before->next = p.at->next;
    here.free(p.at);
    return true;
  }

  template <class F>
  static void for_each(joint* head, F&& f) {
    for (const node* n = after(dereference(head)); n != nullptr; n = after(n))
      f(n->item);
  }
  // When nobody else looks at it and nothing is deferred.
  static void discard_all(joint* head) noexcept {
    for (joint* n = head->next.get(); n != nullptr;) {
      joint* const next = n->next.get();
      discard(n);
      n = next;
    }
    head->next = nullptr;
  }
};

// insert(section, entry), as a section of its own.
template <class Set, class T>
bool insert_alone(Set& set, const T& item) {
  typename Set::entry fresh(item);
  const bool done = update([&](section& here) { return set.insert(here, fresh); });
  if (done) fresh.inserted();
  return done;
}
template <class Set, class T>
bool remove_alone(Set& set, const T& item) {
  return update([&](section& here) { return set.remove(here, item); });
}

}  // namespace detail
}  // namespace lockswap::rlu
