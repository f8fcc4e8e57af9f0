// Parts of the sets of rlu_list.hpp, rlu_hash.hpp, rlu_double_list.hpp, rlu_resizable_hash.hpp and
// rlu_citrus.hpp: objects that are parts of something larger, entries, functions that are sections
// of their own, and chains of nodes.
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

// What compares, and what spreads, the items of a set. Each may have a state.
template <class F, class T>
concept order_of = std::strict_weak_order<const F&, const T&, const T&>;
template <class F, class T>
concept equality_of = std::equivalence_relation<const F&, const T&, const T&>;
template <class F, class T>
concept hash_of = requires(const F& f, const T& item) {
  { f(item) } -> std::convertible_to<std::size_t>;
};

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
  reading() noexcept { lockswap_rlu_enter(); }
  ~reading() { lockswap_rlu_leave(); }
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;
};

// Before a whole structure is freed. In a section that would be a wait for itself, so the process
// ends with a line, as by a std::thread that is destroyed before it is joined.
inline void let_all_take_effect() noexcept {
  if ((lockswap_rlu_flush_all)() != 0)
    lockswap_rlu_check(LOCKSWAP_RLU_AT_WAIT, nullptr, __FILE__, __LINE__);
}

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

// The item of a position, or of a node; nullptr if there is none.
template <class Position>
auto item_at(const Position& p) noexcept -> decltype(&p.at->item) {
  return p.found ? &p.at->item : nullptr;
}

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
  // Returns false, since the node has that item now, or nothing if the caller must abort.
  static std::optional<bool> assign(section& here, node* at, const T& item) {
    if (!here.lock(at)) return std::nullopt;
    at->item = item;
    return false;
  }
  // Returns true if it was removed, and nothing if the caller must abort.
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

// Returns true if all items are gone, and nothing if the caller must abort.
template <class T>
std::optional<bool> clear_chain(section& here, joint* head) {
  joint* first = dereference(head);
  joint* at = first->next.read();
  if (at == nullptr) return true;
  if (!here.lock(first)) return std::nullopt;
  while (at != nullptr) {
    auto* gone = static_cast<node_of<T>*>(at);
    if (!here.lock_const(gone)) return std::nullopt;
    at = gone->next.read();
    here.free(gone);
  }
  first->next = nullptr;
  return true;
}

}  // namespace detail

// What a set has beside its functions for a section of the caller's: the same, each as a section of
// its own. Those that change something throw std::system_error (EDEADLK) in a section, and
// std::bad_alloc; nothing has changed then.
//
// The set has look(item): the item that is there and compares equal, or nullptr; and `domain_`.
template <class Set, class T>
class set_functions {
 public:
  [[nodiscard]] bool contains(const T& item) const {
    const detail::reading here;
    return self().look(item) != nullptr;
  }
  // The item that is there and compares equal.
  [[nodiscard]] std::optional<T> find(const T& item) const {
    const detail::reading here;
    return copy_of(self().look(item));
  }
  // How many items one state of the set has. Cost: a walk; a count would be what all changes meet
  // at.
  [[nodiscard]] std::size_t size() const {
    std::size_t n = 0;
    self().for_each([&n](const T&) { ++n; });
    return n;
  }
  // Returns false if it is there already, and stays as it is.
  bool insert(const T& item, detail::place at = detail::place::current()) {
    return insert_by(item, at, [this](section& here, auto& e) { return self().insert(here, e); });
  }
  // Returns false if it was there, and is now this one.
  bool insert_or_assign(const T& item, detail::place at = detail::place::current()) {
    return insert_by(item, at,
                     [this](section& here, auto& e) { return self().insert_or_assign(here, e); });
  }
  // Returns false if it is not there.
  bool remove(const T& item, detail::place at = detail::place::current()) {
    return update([&](section& here) { return self().remove(here, item); }, at);
  }
  // The same, as the standard's sets call it.
  bool erase(const T& item, detail::place at = detail::place::current()) {
    return remove(item, at);
  }
  // At one moment for all others.
  void clear(detail::place at = detail::place::current()) {
    update([&](section& here) { return self().clear(here); }, at);
  }

  // In the caller's section.
  [[nodiscard]] bool contains(const section&, const T& item) const {
    return self().look(item) != nullptr;
  }
  [[nodiscard]] std::optional<T> find(const section&, const T& item) const {
    return copy_of(self().look(item));
  }

 protected:
  explicit set_functions(domain* of) noexcept : domain_(of) {}
  ~set_functions() = default;
  // What the section changes here is deferred as far as the set's domain says.
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
