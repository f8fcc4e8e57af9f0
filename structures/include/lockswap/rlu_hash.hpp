/// @file
/// A hash table with a sorted list in each bucket, under Read-Log-Update (rlu.h). The number of
/// buckets is fixed; rlu_resizable_hash.hpp has a table that grows and shrinks. C++20.
///
/// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.2.
///
/// Each function is its own section, or a part of the section that is passed: see rlu_list.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {

/// A set of unique items as a hash table with a fixed number of buckets, each a sorted list
/// (Matveev and others, section 4.2). Thread-safe, except for the constructor and destructor.
/// Readers take no lock and never wait.
template <object T, hash_of<T> Hash = std::hash<T>, order_of<T> Less = std::less<T>>
class hash_set : public set_functions<hash_set<T, Hash, Less>, T> {
  using chain = detail::chain<T>;
  using head = embedded<detail::joint<>>;
  using own = set_functions<hash_set, T>;
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

  /// At least one bucket, fewer than 2^32. Throws std::invalid_argument and std::bad_alloc.
  explicit hash_set(std::size_t buckets, Hash hash = {}, Less less = {})
      : hash_set(nullptr, buckets, std::move(hash), std::move(less)) {}
  /// The same in a domain, which may defer changes.
  explicit hash_set(domain& of, std::size_t buckets, Hash hash = {}, Less less = {})
      : hash_set(&of, buckets, std::move(hash), std::move(less)) {}
  hash_set(const hash_set&) = delete;
  hash_set& operator=(const hash_set&) = delete;
  /// Must not be called in a section. No other thread may use the table any more.
  ~hash_set() {
    detail::let_all_take_effect();
    for (std::size_t i = 0; i < buckets_; ++i)
      chain::discard_all(heads_[i].get());
  }
  /// Returns the number of buckets.
  [[nodiscard]] std::size_t buckets() const noexcept { return buckets_; }

  /// Calls f(item) for each item, in no particular order, for one state of the table.
  template <class F>
  void for_each(F f) const {
    const detail::reading here;
    for (std::size_t i = 0; i < buckets_; ++i)
      chain::for_each(heads_[i].get(), f);
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
    for (std::size_t i = 0; i < buckets_; ++i) {
      if (!chain::clear(here, heads_[i].get())) return std::nullopt;
    }
    return true;
  }

 private:
  hash_set(domain* of, std::size_t buckets, Hash hash, Less less)
      : own(of),
        buckets_(checked(buckets)),
        heads_(std::make_unique<head[]>(buckets)),
        hash_(std::move(hash)),
        less_(std::move(less)) {}
  static std::size_t checked(std::size_t buckets) {
    if (buckets == 0 || buckets >> 32 != 0)
      throw std::invalid_argument(
          "lockswap hash_set: the number of buckets is 0, or above 2^32 - 1");
    return buckets;
  }
  const T* look(const T& item) const { return detail::item_at(at(item)); }
  auto at(const T& item) const {
    const std::size_t bucket = (std::uint64_t{detail::mixed(hash_(item))} * buckets_) >> 32;
    return chain::find_sorted(heads_[bucket].get(), item, less_);
  }

  std::size_t buckets_;
  std::unique_ptr<head[]> heads_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Less less_;
};

}  // namespace lockswap::rlu
