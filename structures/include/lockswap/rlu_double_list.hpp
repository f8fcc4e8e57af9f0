/// @file
/// A sorted list that is linked both ways, under Read-Log-Update (rlu.h): a section may walk
/// forwards and backwards, and sees the same list both ways. C++20.
///
/// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.6: what RCU cannot do, since
/// an insertion there changes one link and then the other.
///
/// Each function is its own section, or a part of the section that is passed: see rlu_list.hpp.
//
// Idea: a ring with one place, `ends_`, that is not an item. An insertion locks the two places
// between which it inserts, and a removal locks these two and the node.
#pragma once

#include <functional>
#include <optional>

#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {

/// A sorted list of unique items that can be walked both ways (Matveev and others, section 4.6).
/// Each function walks from one end: O(n). Thread-safe, except for the constructor and destructor.
/// Readers take no lock and never wait.
template <object T, order_of<T> Less = std::less<T>>
class double_list : public set_functions<double_list<T, Less>, T> {
  struct place {
    link<place> next;
    link<place> prev;
  };
  struct node : place {
    T item{};
  };
  using own = set_functions<double_list, T>;
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

  /// Makes an empty list, whose changes are not deferred.
  explicit double_list(Less less = {}) : double_list(nullptr, std::move(less)) {}
  /// The same in a domain, which may defer changes.
  explicit double_list(domain& of, Less less = {}) : double_list(&of, std::move(less)) {}
  double_list(const double_list&) = delete;
  double_list& operator=(const double_list&) = delete;
  /// Must not be called in a section. No other thread may use the list any more.
  ~double_list() {
    detail::let_all_take_effect();
    for (place* p = ends_.get()->next.get(); p != ends_.get();) {
      place* const next = p->next.get();
      discard(p);
      p = next;
    }
  }

  /// Returns whether an equal item is there, searching from the last item.
  [[nodiscard]] bool contains_from_end(const T& item) const {
    const detail::reading here;
    const link<place>* l = &dereference(ends_.get())->prev;
    while (!is_end(*l)) {
      const node* const n = in(*l);
      if (!less_(item, n->item)) return !less_(n->item, item);
      l = &n->prev;
    }
    return false;
  }
  /// Calls f(item) for each item of one state of the list, from the first to the last.
  template <class F>
  void for_each(F f) const {
    walk(f, &place::next);
  }
  /// The same, from the last to the first.
  template <class F>
  void for_each_from_end(F f) const {
    walk(f, &place::prev);
  }
  /// Calls f(item), in order, for the items from `first` on that are less than `end`, of one state
  /// of the list.
  template <class F>
  void for_each_between(const T& first, const T& end, F f) const {
    const detail::reading here;
    for (const place* p = at_or_after(first); !same(p, ends()); p = p->next.read()) {
      const T& item = static_cast<const node*>(p)->item;
      if (!less_(item, end)) return;
      f(item);
    }
  }

  /// Inserts the item in the caller's section, which makes the change if it is committed. Returns
  /// nothing if the caller must abort the section and begin again. Otherwise returns false if an
  /// equal item is there.
  [[nodiscard]] std::optional<bool> insert(section& here, entry& fresh) {
    own::join(here);
    place* const after = at_or_after(fresh.item());
    return is_item(after, fresh.item()) ? std::optional(false) : insert_before(here, after, fresh);
  }
  /// Inserts the item, or replaces an equal one, in which case it returns false. Works like
  /// insert().
  [[nodiscard]] std::optional<bool> insert_or_assign(section& here, entry& fresh) {
    own::join(here);
    place* const after = at_or_after(fresh.item());
    if (!is_item(after, fresh.item())) return insert_before(here, after, fresh);
    auto* mine = static_cast<node*>(after);
    if (!here.lock(mine)) return std::nullopt;
    mine->item = fresh.item();
    return false;
  }
  /// Removes the item. Returns false if it is not there. Works like insert().
  [[nodiscard]] std::optional<bool> remove(section& here, const T& item) {
    own::join(here);
    place* gone = at_or_after(item);
    if (!is_item(gone, item)) return false;
    place* before = gone->prev.read();
    place* after = gone->next.read();
    if (!here.lock(before) || !here.lock(after) || !here.lock_const(gone)) return std::nullopt;
    before->next = gone->next;
    after->prev = gone->prev;
    here.free(gone);
    return true;
  }
  /// Removes all items. Works like insert().
  [[nodiscard]] std::optional<bool> clear(section& here) {
    own::join(here);
    place* end = dereference(ends_.get());
    place* p = end->next.read();
    if (same(p, ends())) return true;
    if (!here.lock(end)) return std::nullopt;
    while (!same(p, ends())) {
      place* const gone = p;
      if (!here.lock_const(p)) return std::nullopt;
      p = gone->next.read();
      here.free(gone);
    }
    end->next = end;
    end->prev = end;
    return true;
  }

 private:
  double_list(domain* of, Less less) : own(of), less_(std::move(less)) {
    place* const ends = ends_.get();
    ends->next = ends;
    ends->prev = ends;
  }
  const T* look(const T& item) const {
    const place* const p = at_or_after(item);
    return is_item(p, item) ? &static_cast<const node*>(p)->item : nullptr;
  }
  static std::optional<bool> insert_before(section& here, place* after, entry& fresh) {
    place* before = after->prev.read();
    if (!here.lock(before) || !here.lock(after)) return std::nullopt;
    node* const n = fresh.node();
    n->next = after;
    n->prev = before;
    before->next = n;
    after->prev = n;
    return true;
  }
  const place* ends() const noexcept { return ends_.get(); }
  bool is_end(const link<place>& l) const noexcept { return l.get() == ends_.get(); }
  static node* in(const link<place>& l) noexcept { return static_cast<node*>(l.read()); }

  // The first place whose item is not less, or the end.
  place* at_or_after(const T& item) const {
    const place* p = dereference(ends_.get());
    while (!is_end(p->next)) {
      node* const n = in(p->next);
      if (!less_(n->item, item)) return n;
      p = n;
    }
    return dereference(ends_.get());
  }
  bool is_item(const place* p, const T& item) const {
    return !same(p, static_cast<const place*>(ends_.get())) &&
           !less_(item, static_cast<const node*>(p)->item);
  }
  template <class F>
  void walk(F& f, link<place> place::*way) const {
    const detail::reading here;
    for (const place* p = dereference(ends_.get()); !is_end(p->*way);) {
      const node* const n = in(p->*way);
      f(n->item);
      p = n;
    }
  }

  mutable embedded<place> ends_;
  [[no_unique_address]] Less less_;
};

}  // namespace lockswap::rlu
