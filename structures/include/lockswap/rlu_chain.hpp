/// @file
/// Parts of the sets of rlu_list.hpp, rlu_hash.hpp, rlu_double_list.hpp, rlu_resizable_hash.hpp and
/// rlu_citrus.hpp: objects inside something larger, entries, functions that are their own sections,
/// and chains of nodes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "lockswap/rlu.hpp"

namespace lockswap::rlu {

/// What compares the items of a sorted set. It may have a state.
template <class F, class T>
concept order_of = std::strict_weak_order<const F&, const T&, const T&>;
/// What tells whether two items are equal. It may have a state.
template <class F, class T>
concept equality_of = std::equivalence_relation<const F&, const T&, const T&>;
/// What hashes an item. It may have a state.
template <class F, class T>
concept hash_of = requires(const F& f, const T& item) {
  { f(item) } -> std::convertible_to<std::size_t>;
};

/// An object inside something larger, such as the head of a chain, which is not allocated or freed
/// by itself. What contains it may be freed when no section can see it any more, and when none of
/// its changes is deferred.
template <class T>
requires object<T>
class embedded {
 public:
  /// Makes the object, as its default constructor does.
  // Checks learn that it may be where an object was freed, and later that its memory may be reused.
  embedded() noexcept { detail::checked(LOCKSWAP_RLU_AT_MADE, &object_, detail::place::current()); }
  ~embedded() { detail::checked(LOCKSWAP_RLU_AT_DISCARD, &object_, detail::place::current()); }
  embedded(const embedded&) = delete;
  embedded& operator=(const embedded&) = delete;
  /// Returns the object, which sections access as any other object.
  [[nodiscard]] T* get() noexcept { return &object_; }

 private:
  static_assert(sizeof(lockswap_rlu_header) == 16);
  alignas(16) lockswap_rlu_header header_{0, sizeof(T)};
  alignas(16) T object_{};  // right behind its header
};

/// An item that will be inserted, with its node. It is made before the section that inserts it,
/// because that section may be aborted and run again. Two threads must not use it at once.
template <class Node, class T>
class entry {
 public:
  /// Copies the item. Its node is made when it is needed.
  explicit entry(const T& item) : item_(item) {}
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;
  /// Frees the node, if it was not inserted.
  ~entry() { discard(node_); }
  /// Must be called when the section that inserted it has been committed.
  void inserted() noexcept { node_ = nullptr; }

  /// Returns the item.
  [[nodiscard]] const T& item() const noexcept { return item_; }
  /// Returns the same node until inserted() is called. Throws std::bad_alloc.
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

/// @cond private
namespace detail {

// A section that only reads. Cheaper than `section`, which may be aborted.
class reading {
 public:
  reading() noexcept { lockswap_rlu_enter(); }
  ~reading() { lockswap_rlu_leave(); }
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;
};

// Called before a whole structure is freed. In a section this would wait for itself, so the process
// ends with a message, as it does if a joinable std::thread is destroyed.
inline void let_all_take_effect() noexcept {
  if ((lockswap_rlu_flush_all)() != 0)
    lockswap_rlu_check(LOCKSWAP_RLU_AT_WAIT, nullptr, __FILE__, __LINE__);
}

// Spreads a hash, whose low or high bits may all be the same, over 32 bits.
inline std::uint32_t mixed(std::size_t hash) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * 0x9E3779B97F4A7C15u) >> 32);
}

// What contains links: the head of a chain, or a node. With two links it can be in two chains, and
// a `side` says which of them is meant.
template <std::size_t kLinks = 1>
struct joint {
  link<joint> next[kLinks];
};
template <class T, std::size_t kLinks = 1>
struct node_of : joint<kLinks> {
  T item{};
};

// Returns the item of a position or a node, or nullptr if there is none.
template <class Position>
auto item_at(const Position& p) noexcept -> decltype(&p.at->item) {
  return p.found ? &p.at->item : nullptr;
}

// A place in a chain, as a section sees it: `at` is the node that was searched for or, if `found`
// is false, what follows its place (null at the chain's end). `before` links to `at`.
template <class Node, class Joint>
struct position {
  Joint* before;
  Node* at;
  bool found;
};

// Operations on a chain from its head, in a section. Two changes of one link conflict at what
// contains it: an insertion locks `before`, and a removal locks `before` and the node.
template <class T, std::size_t kLinks = 1>
class chain {
 public:
  using joint = detail::joint<kLinks>;
  using node = node_of<T, kLinks>;
  using position = detail::position<node, joint>;
  using entry = rlu::entry<node, T>;

  static node* after(const joint* p, unsigned side = 0) noexcept {
    return static_cast<node*>(p->next[side].read());
  }

  // For a chain that is sorted by `less`.
  template <class Less>
  static position find_sorted(joint* head, const T& item, const Less& less) {
    joint* before = dereference(head);
    node* at = after(before);
    while (at != nullptr && less(at->item, item)) {
      before = at;
      at = after(at);
    }
    return {before, at, at != nullptr && !less(item, at->item)};
  }
  // For any chain.
  template <class Equal>
  static position find_any(joint* head, const T& item, const Equal& equal, unsigned side = 0) {
    joint* before = dereference(head);
    node* at = after(before, side);
    while (at != nullptr && !equal(at->item, item)) {
      before = at;
      at = after(at, side);
    }
    return {before, at, at != nullptr};
  }

  // Returns true if it was inserted between `before` and `next`. Returns nothing if the caller must
  // abort. Throws std::bad_alloc.
  static std::optional<bool> insert(section& here, joint* before, joint* next, entry& fresh,
                                    unsigned side = 0) {
    if (!here.lock(before)) return std::nullopt;
    node* const n = fresh.node();
    n->next[side] = next;
    before->next[side] = n;
    return true;
  }
  // Returns false, since the node has that item now, or nothing if the caller must abort.
  static std::optional<bool> assign(section& here, node* at, const T& item) {
    if (!here.lock(at)) return std::nullopt;
    at->item = item;
    return false;
  }
  // Returns true if it was removed, and nothing if the caller must abort.
  static std::optional<bool> remove(section& here, position p, unsigned side = 0) {
    if (!p.found) return false;
    if (!here.lock(p.before) || !here.lock_const(p.at)) return std::nullopt;
    p.before->next[side] = p.at->next[side];
    here.free(p.at);
    return true;
  }
  // Returns true if all items are gone, and nothing if the caller must abort.
  static std::optional<bool> clear(section& here, joint* head, unsigned side = 0) {
    joint* first = dereference(head);
    node* at = after(first, side);
    if (at == nullptr) return true;
    if (!here.lock(first)) return std::nullopt;
    while (at != nullptr) {
      node* gone = at;
      if (!here.lock_const(gone)) return std::nullopt;
      at = after(gone, side);
      here.free(gone);
    }
    first->next[side] = nullptr;
    return true;
  }

  template <class F>
  static void for_each(joint* head, F&& f, unsigned side = 0) {
    for (const node* n = after(dereference(head), side); n != nullptr; n = after(n, side))
      f(n->item);
  }
  // Called when nobody else can access it and nothing is deferred.
  static void discard_all(joint* head, unsigned side = 0) noexcept {
    for (joint* n = head->next[side].get(); n != nullptr;) {
      joint* const next = n->next[side].get();
      discard(n);
      n = next;
    }
    head->next[side] = nullptr;
  }
};

}  // namespace detail
/// @endcond

/// A set's functions without a section argument: each runs the one with a section in its own
/// section. Those that change something throw std::system_error (EDEADLK) in a section, and
/// std::bad_alloc; then nothing has changed.
///
/// The set must have look(item), which returns the equal item or nullptr, and `domain_`.
template <class Set, class T>
class set_functions {
 public:
  /// Returns whether an equal item is there.
  [[nodiscard]] bool contains(const T& item) const {
    const detail::reading here;
    return self().look(item) != nullptr;
  }
  /// Returns the item in the set that compares equal.
  [[nodiscard]] std::optional<T> find(const T& item) const {
    const detail::reading here;
    return copy_of(self().look(item));
  }
  /// Returns the number of items in one state of the set. This takes a walk, because all changes
  /// would conflict at a counter.
  [[nodiscard]] std::size_t size() const {
    std::size_t n = 0;
    self().for_each([&n](const T&) { ++n; });
    return n;
  }
  /// Returns false, and changes nothing, if the item is there already.
  bool insert(const T& item, detail::place at = detail::place::current()) {
    return insert_by(item, at, [this](section& here, auto& e) { return self().insert(here, e); });
  }
  /// Returns false if an equal item was there, which this one has replaced.
  bool insert_or_assign(const T& item, detail::place at = detail::place::current()) {
    return insert_by(item, at,
                     [this](section& here, auto& e) { return self().insert_or_assign(here, e); });
  }
  /// Returns false if it is not there.
  bool remove(const T& item, detail::place at = detail::place::current()) {
    return update([&](section& here) { return self().remove(here, item); }, at);
  }
  /// The same, under the name that the standard's sets use.
  bool erase(const T& item, detail::place at = detail::place::current()) {
    return remove(item, at);
  }
  /// Removes all items, at one moment for all other threads.
  void clear(detail::place at = detail::place::current()) {
    update([&](section& here) { return self().clear(here); }, at);
  }

  /// The same in the caller's section.
  [[nodiscard]] bool contains(const section&, const T& item) const {
    return self().look(item) != nullptr;
  }
  /// The same in the caller's section.
  [[nodiscard]] std::optional<T> find(const section&, const T& item) const {
    return copy_of(self().look(item));
  }

 protected:
  /// For a set in this domain, or in none (null).
  explicit set_functions(domain* of) noexcept : domain_(of) {}
  ~set_functions() = default;
  /// The section's changes here are deferred at most as far as the set's domain allows.
  void join(const section& here) const noexcept { here.join(domain_); }

 private:
  Set& self() noexcept { return static_cast<Set&>(*this); }
  const Set& self() const noexcept { return static_cast<const Set&>(*this); }
  static std::optional<T> copy_of(const T* item) {
    return item == nullptr ? std::nullopt : std::optional<T>(*item);
  }
  template <class F>
  bool insert_by(const T& item, const detail::place& at, const F& change) {
    typename Set::entry fresh(item);
    const bool done = update([&](section& here) { return change(here, fresh); }, at);
    if (done) fresh.inserted();
    return done;
  }

  domain* domain_;
};
}  // namespace lockswap::rlu
