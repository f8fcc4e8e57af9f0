/// @file
/// A hash table that grows and shrinks while other threads use it, under Read-Log-Update (rlu.h).
/// C++20.
///
/// Papers: J. Triplett, P. McKenney, J. Walpole, "Resizable, scalable, concurrent hash tables via
///   relativistic programming" (USENIX ATC 2011), for RCU; Matveev and others, "Read-Log-Update"
///   (SOSP 2015), section 4.3.
///
/// Each function is its own section, or a part of the section that is passed: see rlu_list.hpp.
//
// Idea: the table with twice as many buckets takes its nodes from the smaller one, in which a
//   bucket's chain has the nodes of two new buckets. RCU changes one link at a time, and lets
//   readers pass between any two changes (Triplett's unzip, column by column). Here one section
//   splits the chain, at one moment for all readers. It locks the nodes whose successor changes. To
//   shrink, the chain of one bucket is appended to that of another.
// Invariants: if a head is not `ready`, its nodes are in the table before. A section that makes
//   heads ready also locks the old heads. So it conflicts with an insertion, which locks a head,
//   and with a removal, which locks what links to its node, if they use the older state.
// Deviations: the paper first links the new table to whole old chains, waits for readers, and then
//   unzips under writer locks for buckets. Here a section sees a bucket as either old or new, and
//   object locks are enough for updates. One commit unzips several buckets, and fewer if it
//   conflicts with others. Insertions and removals continue during a resize, which the authors of
//   the RCU table leave out.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "lockswap/rlu_chain.hpp"

namespace lockswap::rlu {

/// A set of unique items as a hash table that can grow and shrink while other threads use it
/// (Matveev and others, section 4.3). It resizes only when resize() is called. Thread-safe, except
/// for the constructor and destructor. Readers take no lock and never wait.
template <object T, hash_of<T> Hash = std::hash<T>, equality_of<T> Equal = std::equal_to<T>>
class resizable_hash_set : public set_functions<resizable_hash_set<T, Hash, Equal>, T> {
  using chain = detail::chain<T>;
  using joint = detail::joint;
  using node = typename chain::node;
  using own = set_functions<resizable_hash_set, T>;
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

  /// The number of buckets is rounded up to a power of two, at most 2^31. Throws
  /// std::invalid_argument and std::bad_alloc.
  explicit resizable_hash_set(std::size_t buckets, Hash hash = {}, Equal equal = {})
      : resizable_hash_set(nullptr, buckets, std::move(hash), std::move(equal)) {}
  /// The same in a domain, which may defer changes.
  explicit resizable_hash_set(domain& of, std::size_t buckets, Hash hash = {}, Equal equal = {})
      : resizable_hash_set(&of, buckets, std::move(hash), std::move(equal)) {}
  resizable_hash_set(const resizable_hash_set&) = delete;
  resizable_hash_set& operator=(const resizable_hash_set&) = delete;
  /// Must not be called in a section. No other thread may use the table any more.
  ~resizable_hash_set() {
    detail::let_all_take_effect();
    if (owned_->before != nullptr) discard_rest(*owned_->before);
    for (auto& h : owned_->heads)
      chain::discard_all(h.get());
  }
  /// Returns the present number or, during a resize, the future one.
  [[nodiscard]] std::size_t buckets() const noexcept { return current().heads.size(); }

  /// Calls f(item) for each item, in no particular order, for one state of the table. Throws
  /// std::bad_alloc.
  template <class F>
  void for_each(F f) const {
    const detail::reading here;
    all_chains([&f](joint* first) {
      chain::for_each(first, f);
      return true;
    });
  }

  /// Inserts the item in the caller's section, which makes the change if it is committed. Returns
  /// nothing if the caller must abort the section and begin again. Otherwise returns false if an
  /// equal item is there.
  [[nodiscard]] std::optional<bool> insert(section& here, entry& fresh) {
    own::join(here);
    joint* const first = head_of(fresh.item());
    if (chain::find_any(first, fresh.item(), equal_).found) return false;
    return insert_at(here, first, fresh);
  }
  /// Inserts the item, or replaces an equal one, in which case it returns false. Works like
  /// insert().
  [[nodiscard]] std::optional<bool> insert_or_assign(section& here, entry& fresh) {
    own::join(here);
    joint* const first = head_of(fresh.item());
    const auto p = chain::find_any(first, fresh.item(), equal_);
    return p.found ? chain::assign(here, p.at, fresh.item()) : insert_at(here, first, fresh);
  }
  /// Removes the item. Returns false if it is not there. Works like insert().
  [[nodiscard]] std::optional<bool> remove(section& here, const T& item) {
    own::join(here);
    return chain::remove(here, at(item));
  }
  /// Removes all items. Works like insert(). Throws std::bad_alloc.
  [[nodiscard]] std::optional<bool> clear(section& here) {
    own::join(here);
    const bool done = all_chains(
        [&here](joint* first) { return detail::clear_chain<T>(here, first).has_value(); });
    return done ? std::optional(true) : std::nullopt;
  }

  /// Resizes the table to this number of buckets, rounded up to a power of two. Other threads may
  /// use the table meanwhile, and another one that resizes it waits. Throws std::system_error
  /// (EDEADLK) in a section, std::invalid_argument for more than 2^31, and std::bad_alloc, after
  /// which the table is as it was or has some of the buckets.
  void resize(std::size_t buckets) {
    if (lockswap_rlu_depth() != 0)
      throw std::system_error(EDEADLK, std::generic_category(), "lockswap rlu resize");
    const std::size_t goal = rounded(buckets);
    const std::lock_guard alone(resizing_);
    if (owned_->before != nullptr) finish();  // what a failed resize has left
    while (owned_->heads.size() != goal) {
      const std::size_t now = owned_->heads.size();
      auto next = std::make_unique<table>(now < goal ? now * 2 : now / 2);
      next->before = std::move(owned_);
      owned_ = std::move(next);
      // release: pairs with current(): its heads are not ready.
      table_.store(owned_.get(), std::memory_order_release);
      finish();
    }
  }

 private:
  resizable_hash_set(domain* of, std::size_t buckets, Hash hash, Equal equal)
      : own(of), hash_(std::move(hash)), equal_(std::move(equal)) {
    owned_ = std::make_unique<table>(rounded(buckets));
    for (auto& h : owned_->heads)
      h.get()->ready = true;
    table_.store(owned_.get(), std::memory_order_release);  // pairs with current()
  }
  static std::size_t rounded(std::size_t buckets) {
    if (buckets > std::size_t{1} << 31)
      throw std::invalid_argument("lockswap resizable_hash_set: more than 2^31 buckets");
    return std::bit_ceil(buckets);
  }

  struct head : joint {
    bool ready = false;  // false: the nodes are in the table before
  };
  struct table {
    explicit table(std::size_t buckets) : heads(buckets) {}
    [[nodiscard]] std::size_t mask() const noexcept { return heads.size() - 1; }
    mutable std::vector<embedded<head>> heads;
    std::unique_ptr<table> before;  // only while this table is being filled
  };
  static constexpr std::size_t kBatch = 1024;  // upper bound on buckets in one commit

  // acquire: pairs with resize(). A section that sees a commit which made heads ready began after
  // it, so it sees this table or a later one. A section with an older table sees an older state,
  // and that table stays until the section has ended.
  const table& current() const noexcept { return *table_.load(std::memory_order_acquire); }
  joint* head_of(const T& item) const {
    const table& t = current();
    const std::size_t bits = detail::mixed(hash_(item));
    head* const h = dereference(t.heads[bits & t.mask()].get());
    if (h->ready) [[likely]]
      return h;
    return dereference(t.before->heads[bits & t.before->mask()].get());
  }
  const T* look(const T& item) const { return detail::item_at(at(item)); }
  // At the head, where it conflicts with a resize.
  static std::optional<bool> insert_at(section& here, joint* first, entry& fresh) {
    return chain::insert(here, first, first->next.read(), fresh);
  }
  // Calls f(head) for the head of each chain while it returns true, and returns whether it always
  // has.
  template <class F>
  bool all_chains(const F& f) const {
    const table& t = current();
    std::vector<bool> seen(t.before == nullptr ? 0 : t.before->heads.size());
    for (std::size_t i = 0; i < t.heads.size(); ++i) {
      const bool is_ready = dereference(t.heads[i].get())->ready;
      if (is_ready) {
        if (!f(t.heads[i].get())) return false;
        continue;
      }
      for (std::size_t old = i & t.before->mask(); old < seen.size(); old += t.heads.size()) {
        if (!seen[old] && !f(t.before->heads[old].get())) return false;
        seen[old] = true;
      }
    }
    return true;
  }
  auto at(const T& item) const { return chain::find_any(head_of(item), item, equal_); }

  // Frees what a failed resize has not moved.
  void discard_rest(table& from) noexcept {
    for (std::size_t i = 0; i < from.heads.size(); ++i) {
      if (!owned_->heads[i & owned_->mask()].get()->ready) chain::discard_all(from.heads[i].get());
    }
  }
  // Fills the new table.
  void finish() {
    table& to = *owned_;
    table& from = *to.before;
    const std::size_t pairs = std::min(to.heads.size(), from.heads.size());
    std::size_t batch = kBatch;
    for (std::size_t i = 0; i < pairs;) {
      i = update([&](section& here) -> std::optional<std::size_t> {
        const std::size_t end = std::min(i + batch, pairs);
        if (move(here, from, to, i, end)) return end;
        batch = std::max<std::size_t>(batch / 2, 1);
        return std::nullopt;
      });
      batch = std::min(batch * 2, kBatch);
    }
    // After this, no section sees a state in which a head is not ready, or accesses the old table.
    lockswap_rlu_flush();
    lockswap_rlu_synchronize();
    to.before.reset();
  }
  // Returns false if the caller must abort.
  bool move(section& here, table& from, table& to, std::size_t begin, std::size_t end) {
    const bool grows = from.heads.size() < to.heads.size();
    for (std::size_t i = begin; i < end; ++i) {
      head* const first = to.heads[i].get();
      if (dereference(first)->ready) continue;  // done by a failed resize
      if (!(grows ? unzip(here, from, to, i) : join(here, from, to, i))) return false;
    }
    return true;
  }
  bool unzip(section& here, table& from, table& to, std::size_t i) {
    const std::size_t pairs = from.heads.size();
    head* const old = from.heads[i].get();
    head* kept = old;
    head* low = to.heads[i].get();
    head* high = to.heads[i + pairs].get();
    if (!here.lock_const(kept) || !here.lock(low) || !here.lock(high)) return false;
    low->ready = true;
    high->ready = true;
    joint* last[2] = {low, high};
    for (node* n = chain::after(kept); n != nullptr;) {
      node* const next = chain::after(n);  // read before n is changed
      const bool is_high = (detail::mixed(hash_(n->item)) & pairs) != 0;
      if (!relink(here, last[is_high ? 1 : 0], n)) return false;
      last[is_high ? 1 : 0] = n;
      n = next;
    }
    return relink(here, last[0], nullptr) && relink(here, last[1], nullptr);
  }
  static bool relink(section& here, joint* p, node* next) {
    const link<joint> to(next);
    if (p->next == to) return true;
    if (!here.lock(p)) return false;
    p->next = to;
    return true;
  }
  bool join(section& here, table& from, table& to, std::size_t i) {
    head* low = from.heads[i].get();
    head* high = from.heads[i + to.heads.size()].get();
    head* joined = to.heads[i].get();
    if (!here.lock_const(low) || !here.lock_const(high) || !here.lock(joined)) return false;
    joined->ready = true;
    joined->next = low->next;
    joint* last = joined;
    for (node* n = chain::after(low); n != nullptr; n = chain::after(n))
      last = n;
    return relink(here, last, chain::after(high));
  }

  std::unique_ptr<table> owned_;  // for the thread that has `resizing_`
  std::atomic<const table*> table_{nullptr};
  std::mutex resizing_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;
};

}  // namespace lockswap::rlu
