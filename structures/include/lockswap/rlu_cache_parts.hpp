// The parts of a slot of the cache database (rlu_cache.hpp): records in the search trees of its
// buckets, and the same records in the order in which they were used. C++20.
//
// A template over Sync, which says how a structure is read and changed while other threads access
// it: under Read-Log-Update (rlu_cache.hpp), or in the plain way under locks. Sync has
//   link<T>, embedded<T>   a pointer in an object, an object in an object: as in rlu.hpp
//   see(p)                 returns the object as it may be read here
//   own(p)                 makes p the object as it may be changed here; may throw std::bad_alloc
//   same(a, b)             returns whether both are the same object
//   allocate(size)         returns zeroed bytes, an object; throws std::bad_alloc
//   discard(p), retire(p)  free an object that nobody has, or that others may still access
//
// A thread that changes a slot excludes everyone but readers. It calls own() for each object before
// it changes it; calling it again is harmless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

/// @cond private
namespace lockswap::rlu::detail {

template <class Sync>
struct cache_parts {
  template <class T>
  using link = typename Sync::template link<T>;
  template <class T>
  using embedded = typename Sync::template embedded<T>;

  // The bytes follow. A value never changes: setting a record's value gives it a new one.
  struct value {
    std::uint64_t size;
    [[nodiscard]] std::string_view text() const noexcept {
      return {reinterpret_cast<const char*>(this + 1), size};
    }
  };
  struct record;
  // The beginning of a tree (its first child), and a place in it.
  struct fork {
    link<record> child[2];
  };
  // The bytes of the key follow.
  struct record : fork {
    link<record> older;
    link<record> newer;
    link<value> content;
    std::uint64_t hash;
    std::uint64_t key_size;
    [[nodiscard]] std::string_view key() const noexcept {
      return {reinterpret_cast<const char*>(this + 1), key_size};
    }
  };
  // The buckets of a slot. Cleared by replacing it with another table.
  struct table {
    std::uint64_t size;
    std::uint64_t unused;
    [[nodiscard]] fork* bucket(std::uint64_t hash) noexcept {
      return (reinterpret_cast<embedded<fork>*>(this + 1) + hash % size)->get();
    }
  };
  struct table_place {
    link<table> now;
  };
  // Both ends of the order of a slot's records.
  struct ends {
    link<record> oldest;
    link<record> newest;
    std::uint64_t count = 0;
  };

  // A new object that nobody has yet, which is freed if nobody ever gets it.
  template <class T>
  class fresh {
   public:
    explicit fresh(T* p) noexcept : p_(p) {}
    fresh(fresh&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
    fresh& operator=(fresh&&) = delete;
    ~fresh() {
      if (p_ != nullptr) Sync::discard(p_);
    }
    [[nodiscard]] T* get() const noexcept { return p_; }
    void published() noexcept { p_ = nullptr; }

   private:
    T* p_;
  };
  // These throw std::bad_alloc.
  static fresh<value> make_value(std::string_view text) {
    auto* const v = ::new (Sync::allocate(sizeof(value) + text.size())) value{text.size()};
    if (!text.empty()) std::memcpy(v + 1, text.data(), text.size());
    return fresh<value>(v);
  }
  static fresh<record> make_record(std::string_view key, std::uint64_t hash) {
    auto* const r = ::new (Sync::allocate(sizeof(record) + key.size())) record{};
    r->hash = hash;
    r->key_size = key.size();
    if (!key.empty()) std::memcpy(r + 1, key.data(), key.size());
    return fresh<record>(r);
  }
  static fresh<table> make_table(std::size_t buckets) {
    static_assert(sizeof(table) % alignof(embedded<fork>) == 0);
    void* const memory = Sync::allocate(sizeof(table) + buckets * sizeof(embedded<fork>));
    auto* const t = ::new (memory) table{buckets, 0};
    auto* const first = reinterpret_cast<embedded<fork>*>(t + 1);
    for (std::size_t i = 0; i < buckets; ++i)
      ::new (first + i) embedded<fork>;
    return fresh<table>(t);
  }

  // --- The tree of a bucket: unbalanced, by hash and then by key.

  // Where a key is (`at`), or would be: at link `side` of `parent`.
  struct place {
    fork* parent;
    int side;
    record* at;
  };
  static place find(fork* bucket, std::uint64_t hash, std::string_view key) {
    place p{Sync::see(bucket), 0, nullptr};
    for (record* r = p.parent->child[0].read(); r != nullptr; r = r->child[p.side].read()) {
      const int order = compare(hash, key, *r);
      if (order == 0) {
        p.at = r;
        break;
      }
      p.parent = r;
      p.side = order > 0 ? 1 : 0;
    }
    return p;
  }
  static void insert(place p, record* r) {
    Sync::own(p.parent);
    p.parent->child[p.side] = r;
  }
  // Removes p.at. If it has two children, the leftmost record on the right takes its place.
  static void take_out(place p) {
    record* const gone = p.at;
    Sync::own(p.parent);
    for (int empty = 0; empty < 2; ++empty) {
      if (gone->child[empty].get() != nullptr) continue;
      p.parent->child[p.side] = gone->child[1 - empty];
      return;
    }
    fork* parent = gone;
    record* successor = gone->child[1].read();
    for (record* r = successor->child[0].read(); r != nullptr; r = r->child[0].read()) {
      parent = successor;
      successor = r;
    }
    Sync::own(successor);
    if (parent != gone) {
      Sync::own(parent);
      parent->child[0] = successor->child[1];
      successor->child[1] = gone->child[1];
    }
    successor->child[0] = gone->child[0];
    p.parent->child[p.side] = successor;
  }

  // --- The order of a slot's records, by which old ones are evicted and all are listed.

  // `r` may be changed.
  static void append(ends*& e, record* r) {
    Sync::own(e);
    record* newest = e->newest.read();
    r->older = newest;
    r->newer = nullptr;
    if (newest != nullptr) {
      Sync::own(newest);
      newest->newer = r;
    } else {
      e->oldest = r;
    }
    e->newest = r;
  }
  static void unlink(ends*& e, const record* r) {
    Sync::own(e);
    record* older = r->older.read();
    record* newer = r->newer.read();
    if (older != nullptr) {
      Sync::own(older);
      older->newer = newer;
    } else {
      e->oldest = newer;
    }
    if (newer != nullptr) {
      Sync::own(newer);
      newer->older = older;
    } else {
      e->newest = older;
    }
  }
  static bool is_newest(const ends* e, const record* r) {
    return Sync::same(static_cast<const record*>(e->newest.get()), r);
  }

 private:
  static int compare(std::uint64_t hash, std::string_view key, const record& r) noexcept {
    if (hash != r.hash) return hash < r.hash ? -1 : 1;
    if (key.size() != r.key_size) return key.size() < r.key_size ? -1 : 1;
    return key.compare(r.key());
  }
};

}  // namespace lockswap::rlu::detail
/// @endcond
