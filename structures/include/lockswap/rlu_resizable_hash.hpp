/// @file
/// A hash table that grows and shrinks while other threads use it, under Read-Log-Update (rlu.h).
/// C++20.
///
/// Papers: J. Triplett, P. McKenney, J. Walpole, "Resizable, scalable, concurrent hash tables via
///   relativistic programming" (USENIX ATC 2011), for RCU; Matveev and others, "Read-Log-Update"
///   (SOSP 2015), section 4.3. Two links in each node are Herbert Xu's, for RCU (Linux, "bridge:
///   Add core IGMP snooping support", 2010).
///
/// Each function is its own section, or a part of the section that is passed: see rlu_list.hpp.
//
// Idea: each node has two links. The table's chains use one of them, its side, and the chains of
//   the next table, with twice or half as many buckets, use the other one. So a resize links the
//   next table's chains while the present ones are read, and one commit lets all sections change
//   over to some of them.
// State: a table with another one `before` it has the nodes of the first `moved` pairs. A pair is a
//   bucket of the smaller table, and the two of the larger one that have the same nodes. The pairs
//   from there to `end` are being moved, and are the only ones of which the resizing thread writes
//   links.
// Invariants: nobody follows a link of the other side before the commit that moves its pair. Of the
//   pairs that are being moved, only a section that has locked the progress changes anything: the
//   resizing thread's, which needs no other lock, or a writer's. Sections that began before a pair
//   was among them have ended and taken effect when its move begins.
// Deviations: the paper's resize copies each node whose successor changes, and RCU's waits for
//   readers after each link of a chain. Insertions and removals continue during a resize, which the
//   authors of the RCU table leave out.
#pragma once

#include <algorithm>
#include <array>
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
  using chain = detail::chain<T, 2>;
  using joint = typename chain::joint;
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
    each_chain(*owned_, *owned_->filled.get(), [](spot s) {
      chain::discard_all(s.head, s.side);
      return true;
    });
  }
  /// Returns the present number or, during a resize, the future one.
  [[nodiscard]] std::size_t buckets() const noexcept { return current().heads.size(); }

  /// Calls f(item) for each item, in no particular order, for one state of the table.
  template <class F>
  void for_each(F f) const {
    const detail::reading here;
    each_chain([&f](spot s) {
      chain::for_each(s.head, f, s.side);
      return true;
    });
  }

  /// Inserts the item in the caller's section, which makes the change if it is committed. Returns
  /// nothing if the caller must abort the section and begin again. Otherwise returns false if an
  /// equal item is there.
  [[nodiscard]] std::optional<bool> insert(section& here, entry& fresh) {
    own::join(here);
    const spot s = spot_of(fresh.item());
    return at(s, fresh.item()).found ? std::optional(false) : insert_at(here, s, fresh);
  }
  /// Inserts the item, or replaces an equal one, in which case it returns false. Works like
  /// insert().
  [[nodiscard]] std::optional<bool> insert_or_assign(section& here, entry& fresh) {
    own::join(here);
    const spot s = spot_of(fresh.item());
    const auto p = at(s, fresh.item());
    if (!p.found) return insert_at(here, s, fresh);
    return may_change(here, s) ? chain::assign(here, p.at, fresh.item()) : std::nullopt;
  }
  /// Removes the item. Returns false if it is not there. Works like insert().
  [[nodiscard]] std::optional<bool> remove(section& here, const T& item) {
    own::join(here);
    const spot s = spot_of(item);
    const auto p = at(s, item);
    if (!p.found) return false;
    return may_change(here, s) ? chain::remove(here, p, s.side) : std::nullopt;
  }
  /// Removes all items. Works like insert(). Throws std::bad_alloc.
  [[nodiscard]] std::optional<bool> clear(section& here) {
    own::join(here);
    const bool done = each_chain([&here](spot s) {
      return may_change(here, s) && chain::clear(here, s.head, s.side).has_value();
    });
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
      auto next = std::make_unique<table>(now < goal ? now * 2 : now / 2, owned_.get());
      next->before = std::move(owned_);
      owned_ = std::move(next);
      table_.store(owned_.get(), std::memory_order_release);  // pairs with current()
      lockswap_rlu_synchronize();  // for writers that don't know that pairs are being moved
      finish();
    }
  }

 private:
  resizable_hash_set(domain* of, std::size_t buckets, Hash hash, Equal equal)
      : own(of), hash_(std::move(hash)), equal_(std::move(equal)) {
    owned_ = std::make_unique<table>(rounded(buckets), nullptr);
    table_.store(owned_.get(), std::memory_order_release);  // pairs with current()
  }
  static std::size_t rounded(std::size_t buckets) {
    if (buckets > std::size_t{1} << 31)
      throw std::invalid_argument("lockswap resizable_hash_set: more than 2^31 buckets");
    return std::bit_ceil(buckets);
  }

  static constexpr std::size_t kBatch = 1024;  // upper bound on pairs that are moved at once
  static constexpr std::size_t kAbreast = 16;  // chains that a resize walks side by side

  // Counts pairs.
  struct progress {
    std::size_t moved = 0;
    std::size_t end = 0;
  };
  struct table {
    table(std::size_t buckets, const table* from)
        : mask(buckets - 1),
          pair_mask(from == nullptr ? mask : std::min(mask, from->mask)),
          side(from == nullptr ? 0 : 1 - from->side),
          heads(buckets) {
      if (from == nullptr) {
        *filled.get() = {buckets, buckets};
      } else {
        filled.get()->end = std::min(kBatch, pairs());
      }
    }
    [[nodiscard]] std::size_t pairs() const noexcept { return pair_mask + 1; }

    mutable embedded<progress> filled;
    std::size_t mask;
    std::size_t pair_mask;
    unsigned side;  // of its links
    mutable std::vector<embedded<joint>> heads;
    std::unique_ptr<table> before;  // only while this table is being filled
  };
  // Where a chain is, as a section sees it.
  struct spot {
    joint* head;
    unsigned side;
    progress* moving;  // for writers to lock; nullptr: its pair is not being moved
  };
  // What a resize has of a pair that it is moving.
  struct strand {
    node* at;             // the next node
    joint* rest;          // the head of a chain that follows this one, or nullptr
    link<joint>* end[2];  // of the new chains
  };

  // acquire: pairs with resize(). A section that sees a commit which moved pairs began after it, so
  // it sees this table or a later one. A section with an older table sees an older state, and that
  // table stays until the section has ended.
  const table& current() const noexcept { return *table_.load(std::memory_order_acquire); }
  spot spot_of(const T& item) const {
    const table& t = current();
    return spot_in(t, *dereference(t.filled.get()), detail::mixed(hash_(item)));
  }
  static spot spot_in(const table& t, const progress& p, std::size_t bits) noexcept {
    const std::size_t pair = bits & t.pair_mask;
    if (pair < p.moved) [[likely]]
      return {t.heads[bits & t.mask].get(), t.side, nullptr};
    const table& from = *t.before;
    return {from.heads[bits & from.mask].get(), from.side, pair < p.end ? t.filled.get() : nullptr};
  }
  // Called before the section locks anything in that chain. Returns false if the caller must abort.
  // What is locked first is unlocked last, so if a resize gets the progress, all is unlocked there.
  static bool may_change(section& here, spot s) noexcept {
    return s.moving == nullptr || here.lock_const(s.moving);
  }
  const T* look(const T& item) const { return detail::item_at(at(spot_of(item), item)); }
  auto at(spot s, const T& item) const { return chain::find_any(s.head, item, equal_, s.side); }
  std::optional<bool> insert_at(section& here, spot s, entry& fresh) {
    if (!may_change(here, s)) return std::nullopt;
    joint* const first = dereference(s.head);
    return chain::insert(here, first, chain::after(first, s.side), fresh, s.side);
  }
  // Calls f(spot) for each chain while it returns true, and returns whether it always has.
  template <class F>
  bool each_chain(const F& f) const {
    const table& t = current();
    return each_chain(t, *dereference(t.filled.get()), f);
  }
  template <class F>
  static bool each_chain(const table& t, const progress& p, const F& f) {
    for (std::size_t pair = 0; pair < t.pairs(); ++pair) {
      const std::size_t buckets = pair < p.moved ? t.heads.size() : t.before->heads.size();
      for (std::size_t i = pair; i < buckets; i += t.pairs()) {
        if (!f(spot_in(t, p, i))) return false;
      }
    }
    return true;
  }

  // Fills the new table.
  void finish() {
    table& to = *owned_;
    for (bool is_full = false; !is_full;) {
      // The commit that let these pairs be moved, and then what other threads had deferred before.
      lockswap_rlu_flush();
      lockswap_rlu_flush_all();
      is_full = update([&](section& here) -> std::optional<bool> {
        progress* p = to.filled.get();
        if (!here.lock(p)) return std::nullopt;
        move(here, to, *p);
        *p = {p->end, std::min(p->end + kBatch, to.pairs())};
        return p->moved == to.pairs();
      });
    }
    // After this, no section sees a state in which a pair is not moved, or accesses the old table.
    lockswap_rlu_flush();
    lockswap_rlu_synchronize();
    to.before.reset();
  }
  // Links the nodes of the pairs that are being moved by the new table's side. Walks several chains
  // at once, so that their cache misses overlap.
  void move(section& here, const table& to, const progress& p) const {
    for (std::size_t i = p.moved; i < p.end;) {
      std::array<strand, kAbreast> strands;
      const std::size_t count = std::min(kAbreast, p.end - i);
      for (std::size_t k = 0; k < count; ++k)
        strands[k] = strand_of(to, i++);
      for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (std::size_t k = 0; k < count; ++k)
          goes_on |= step(here, to, strands[k]);
      }
    }
  }
  static strand strand_of(const table& to, std::size_t pair) {
    const table& from = *to.before;
    const bool grows = to.mask > from.mask;
    const std::size_t high = pair + to.pairs();
    strand s{chain::after(dereference(from.heads[pair].get()), from.side),
             grows ? nullptr : from.heads[high].get(),
             {&to.heads[pair].get()->next[to.side],
              &to.heads[grows ? high : pair].get()->next[to.side]}};
    *s.end[0] = *s.end[1] = nullptr;  // a section that was aborted may have written there
    return s;
  }
  bool step(section& here, const table& to, strand& s) const {
    const table& from = *to.before;
    if (s.at == nullptr) {
      if (s.rest == nullptr) return false;
      s.at = chain::after(dereference(s.rest), from.side);
      s.rest = nullptr;
      return true;
    }
    node* n = s.at;
    s.at = chain::after(n, from.side);
    write_into(here, n);
    const bool is_high = (detail::mixed(hash_(n->item)) & to.mask & ~from.mask) != 0;
    link<joint>*& end = s.end[is_high ? 1 : 0];
    *end = n;
    end = &n->next[to.side];
    *end = nullptr;
    return true;
  }
  // No lock is needed, because no other thread has to do with the link that is written. Checks
  // can't know that, as they watch whole objects.
  static void write_into([[maybe_unused]] section& here, [[maybe_unused]] node*& n) {
#if defined(LOCKSWAP_RLU_CHECKS)
    if (!here.lock(n)) throw std::bad_alloc();
#endif
  }

  std::unique_ptr<table> owned_;  // for the thread that has `resizing_`
  std::atomic<const table*> table_{nullptr};
  std::mutex resizing_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;
};

}  // namespace lockswap::rlu
