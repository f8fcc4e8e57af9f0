// A hash table with a sorted list for each bucket, under Read-Log-Update (rlu.h). The number of
// buckets is fixed; rlu_resizable_hash.hpp has one that grows and shrinks. C++20.
//
// Paper: Matveev and others, "Read-Log-Update" (SOSP 2015), section 4.2.
// Each function is a section of its own, or a part of the one that is given: see rlu_list.hpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {

template <class T, class Hash = std::hash<T>, class Less = std::less<T>>
requires object<T>
class hash_set {
  using chain = detail::chain<T>;
  using head = embedded<detail::joint>;

 public:
  using entry = typename chain::entry;

  // At least one bucket, fewer than 2^32. Throws std::bad_alloc.
  explicit hash_set(std::size_t buckets, Hash hash = {}, Less less = {})
      : buckets_(buckets),
        heads_(std::make_unique<head[]>(buckets)),
        hash_(std::move(hash)),
        less_(std::move(less)) {}
  hash_set(const hash_set&) = delete;
  hash_set& operator=(const hash_set&) = delete;
  // Not in a section. No other thread uses the table any more.
  ~hash_set() {
    detail::let_all_take_effect();
    for (std::size_t i = 0; i < buckets_; ++i)
      chain::discard_all(heads_[i].get());
  }
  [[nodiscard]] std::size_t buckets() const noexcept { return buckets_; }

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
  // f(item), in no order, of one state of the table.
  template <class F>
  void for_each(F f) const {
    const detail::reading here;
    for (std::size_t i = 0; i < buckets_; ++i)
      chain::for_each(heads_[i].get(), f);
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
