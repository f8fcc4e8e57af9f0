// A sorted list of items, each at most once, under Read-Log-Update (rlu.h): readers never wait, and
// threads that change different parts of it do not meet. C++20.
//
// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.1.
//
//   lockswap::rlu::list<int> odd, even;
//   odd.insert(3);
//   bool there = odd.contains(3);
//
// Each function is a section of its own. Several changes become one, for several structures too, if
// a section is given: other threads see all of them or none.
//
//   lockswap::rlu::list<int>::entry four(4);
//   using lockswap::rlu::section;
//   const bool moved = lockswap::rlu::update([&](section& here) -> std::optional<bool> {
//     const auto gone = odd.remove(here, 3);
//     if (!gone || !*gone) return gone;          // nothing: abort, and begin again
//     return even.insert(here, four);
//   });
//   if (moved) four.inserted();
//
// Items are copied byte by byte (the concept `object`), and compared by Less, which may look at a
// part of them: then it is a map.
// Thread-safe but for constructor and destructor. With deferral (lockswap_rlu_set_deferral) other
// threads see a change later; each section sees one state of all structures.
#pragma once

#include <functional>
#include <optional>

#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {

template <class T, class Less = std::less<T>>
requires object<T>
class list {
  using chain = detail::chain<T>;

 public:
  using entry = typename chain::entry;

  explicit list(Less less = {}) : less_(std::move(less)) {}
  list(const list&) = delete;
  list& operator=(const list&) = delete;
  // Not in a section. No other thread uses the list any more.
  ~list() {
    detail::let_all_take_effect();
    chain::discard_all(head_.get());
  }

  [[nodiscard]] bool contains(const T& item) const {
    const detail::reading here;
    return at(item).found;
  }
  // The item that is there and compares equal.
  [[nodiscard]] std::optional<T> find(const T& item) const {
    const detail::reading here;
    const auto p = at(item);
    return p.found ? std::optional<T>(p.at->item) : std::nullopt;
  }
  // Returns false if it is there already. Throws std::bad_alloc.
  bool insert(const T& item) { return detail::insert_alone(*this, item); }
  // Returns false if it is not there. Throws std::bad_alloc.
  bool remove(const T& item) { return detail::remove_alone(*this, item); }
  // f(item), in order, of one state of the list.
  template <class F>
  void for_each(F f) const {
    const detail::reading here;
    chain::for_each(head_.get(), f);
  }

  // In the caller's section. Returns nothing if the caller must abort it, and begin again.
  [[nodiscard]] bool contains(const section&, const T& item) const { return at(item).found; }
  [[nodiscard]] std::optional<bool> insert(section& here, entry& fresh) {
    const auto p = at(fresh.item());
    return p.found ? std::optional(false) : chain::insert(here, p.before, p.at, fresh);
  }
  [[nodiscard]] std::optional<bool> remove(section& here, const T& item) {
    return chain::remove(here, at(item));
  }

 private:
  auto at(const T& item) const { return chain::find_sorted(head_.get(), item, less_); }

  mutable embedded<detail::joint> head_;
  [[no_unique_address]] Less less_;
};

}  // namespace lockswap::rlu
