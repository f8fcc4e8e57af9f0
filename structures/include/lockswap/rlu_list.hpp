/// @file
/// A sorted list of unique items, under Read-Log-Update (rlu.h): readers never wait, and threads
/// that change different parts of the list don't conflict. C++20.
///
/// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.1.
///
///     lockswap::rlu::list<int> odd, even;
///     odd.insert(3);
///     bool there = odd.contains(3);
///
/// Each function is its own section, so the ones that change something must not be called in a
/// section, such as a walk: they throw. If a section is passed, several changes become one, even of
/// several structures: other threads see all of them or none.
///
///     lockswap::rlu::list<int>::entry four(4);
///     using lockswap::rlu::section;
///     const bool moved = lockswap::rlu::update([&](section& here) -> std::optional<bool> {
///       const auto gone = odd.remove(here, 3);
///       if (!gone || !*gone) return gone;          // nothing: abort, and begin again
///       return even.insert(here, four);
///     });
///     if (moved) four.inserted();
///
/// Items are copied byte by byte (the concept `object`), and compared by Less, which may compare
/// only a part of them, so this can be a map.
///
/// Thread-safe, except for the constructor and destructor. In a domain with deferral other threads
/// see a change later, but each section sees one state of all structures.
#pragma once

#include <functional>
#include <optional>

#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {

/// A sorted list of unique items (Matveev and others, section 4.1). Each function walks from the
/// first item: O(n). Thread-safe, except for the constructor and destructor. Readers take no lock
/// and never wait.
template <object T, order_of<T> Less = std::less<T>>
class list : public set_functions<list<T, Less>, T> {
  using chain = detail::chain<T>;
  using own = set_functions<list, T>;
  friend own;

 public:
  /// An item that will be inserted, for the functions with a section.
  using entry = typename chain::entry;
  using own::clear;
  using own::contains;
  using own::find;
  using own::insert;
  using own::insert_or_assign;
  using own::remove;

  /// Makes an empty list, whose changes are not deferred.
  explicit list(Less less = {}) : own(nullptr), less_(std::move(less)) {}
  /// The same in a domain, which may defer changes.
  explicit list(domain& of, Less less = {}) : own(&of), less_(std::move(less)) {}
  list(const list&) = delete;
  list& operator=(const list&) = delete;
  /// Must not be called in a section. No other thread may use the list any more.
  ~list() {
    detail::let_all_take_effect();
    chain::discard_all(head_.get());
  }

  /// Calls f(item) for each item, in order, for one state of the list.
  template <class F>
  void for_each(F f) const {
    const detail::reading here;
    chain::for_each(head_.get(), f);
  }
  /// Calls f(item), in order, for the items from `first` on that are less than `end`, of one state
  /// of the list.
  template <class F>
  void for_each_between(const T& first, const T& end, F f) const {
    const detail::reading here;
    for (const auto* n = at(first).at; n != nullptr && less_(n->item, end); n = chain::after(n))
      f(n->item);
  }

  /// Inserts the item in the caller's section, which makes the change if it is committed. Returns
  /// nothing if the caller must abort the section and begin again. Otherwise returns false if an
  /// equal item is there.
  [[nodiscard]] std::optional<bool> insert(section& here, entry& fresh) {
    own::join(here);
    const auto p = at(fresh.item());
    return p.found ? std::optional(false) : chain::insert(here, p.before, p.at, fresh);
  }
  /// Inserts the item, or replaces an equal one, in which case it returns false. Works like
  /// insert().
  [[nodiscard]] std::optional<bool> insert_or_assign(section& here, entry& fresh) {
    own::join(here);
    const auto p = at(fresh.item());
    return p.found ? chain::assign(here, p.at, fresh.item())
                   : chain::insert(here, p.before, p.at, fresh);
  }
  /// Removes the item. Returns false if it is not there. Works like insert().
  [[nodiscard]] std::optional<bool> remove(section& here, const T& item) {
    own::join(here);
    return chain::remove(here, at(item));
  }
  /// Removes all items. Works like insert().
  [[nodiscard]] std::optional<bool> clear(section& here) {
    own::join(here);
    return chain::clear(here, head_.get());
  }

 private:
  const T* look(const T& item) const { return detail::item_at(at(item)); }
  auto at(const T& item) const { return chain::find_sorted(head_.get(), item, less_); }

  mutable embedded<detail::joint<>> head_;
  [[no_unique_address]] Less less_;
};

}  // namespace lockswap::rlu
