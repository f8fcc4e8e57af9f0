/// @file
/// The operations of the cache database of rlu_cache.hpp, over any way to synchronise threads.
/// C++20.
//
// In addition to what rlu_cache_parts.hpp lists, Sync has
//   look(slot, f), look_at_all(f)   calls f(), which reads that slot, or a snapshot of all
//   change(slots, f)                calls f(), which changes the slots with a bit in `slots`; if
//                                   that throws, nothing has been changed
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockswap/rlu_cache_parts.hpp"

namespace lockswap::rlu {

/// How a cache database is made.
struct cache_options {
  std::size_t buckets = 1048583;  ///< in all slots together, at least 1; CacheDB's default
  std::size_t capacity = 0;       ///< records, divided evenly among the slots; 0: no limit
  /// Whether a record that is used becomes the newest one, so that the least recently used one is
  /// evicted.
  bool lru = false;
};

/// @cond private
namespace detail {
inline constexpr unsigned kCacheSlots = 16;
inline constexpr unsigned kAllCacheSlots = (1u << kCacheSlots) - 1;
}  // namespace detail
/// @endcond

/// A cache database over a way to synchronise threads. Programs use lockswap::rlu::cache, whose
/// file describes thread-safety and errors.
template <class Sync>
class cache_database {
  using parts = detail::cache_parts<Sync>;
  using record = typename parts::record;
  using value = typename parts::value;
  using table = typename parts::table;
  using ends = typename parts::ends;

 public:
  /// A key and its content.
  using pair = std::pair<std::string_view, std::string_view>;

  /// Makes an empty database. Throws std::bad_alloc.
  explicit cache_database(const cache_options& options = {})
      : buckets_(options.buckets / detail::kCacheSlots + 1),
        capacity_(options.capacity == 0 ? SIZE_MAX : options.capacity / detail::kCacheSlots + 1),
        lru_(options.lru) {
    std::vector<typename parts::template fresh<table>> tables = make_tables();
    for (unsigned i = 0; i < detail::kCacheSlots; ++i) {
      slots_[i].buckets.get()->now = tables[i].get();
      tables[i].published();
    }
  }
  cache_database(const cache_database&) = delete;
  cache_database& operator=(const cache_database&) = delete;
  /// Must not be called in a section. No other thread may use the database any more.
  ~cache_database() {
    for (slot& s : slots_) {
      for (record* r = s.order.get()->oldest.get(); r != nullptr;) {
        record* const next = r->newer.get();
        Sync::discard(r->content.get());
        Sync::discard(r);
        r = next;
      }
      Sync::discard(s.buckets.get()->now.get());
    }
  }

  /// Copies the record's content. Returns false, and leaves `content` unchanged, if there is no
  /// such key.
  bool get(std::string_view key, std::string& content) {
    const where w(key);
    if (!lru_) {
      return sync_.look(w.slot, [&] { return copy_of(found(w, key).at, content); });
    }
    return sync_.change(1u << w.slot, [&] {
      record* const r = found(w, key).at;
      if (!copy_of(r, content)) return false;
      use(w, r);
      return true;
    });
  }
  /// Sets the record's content, whether or not the key is there.
  void set(std::string_view key, std::string_view content) {
    const where w(key);
    new_record fresh(w, key, content);
    sync_.change(1u << w.slot, [&] {
      put(w, key, fresh);
      return true;
    });
    fresh.published();
  }
  /// Adds a record. Returns false, and changes nothing, if the key is there already.
  bool add(std::string_view key, std::string_view content) {
    const where w(key);
    new_record fresh(w, key, content);
    const bool done = sync_.change(1u << w.slot, [&] {
      const auto p = found(w, key);
      if (p.at != nullptr) {
        if (lru_) use(w, p.at);
        return false;
      }
      put_new(w, fresh, p);
      return true;
    });
    if (done) fresh.published();
    return done;
  }
  /// Removes a record. Returns false if there is no such key.
  bool remove(std::string_view key) {
    const where w(key);
    return sync_.change(1u << w.slot, [&] {
      const auto p = found(w, key);
      if (p.at == nullptr) return false;
      throw_away(w.slot, p);
      return true;
    });
  }
  /// Adds a number to a record and returns the sum. A record that is not there begins with `first`.
  /// Returns nothing if the record is not a number, which is 8 bytes in this machine's byte order.
  /// Wraps around.
  std::optional<std::int64_t> increment(std::string_view key, std::int64_t by,
                                        std::int64_t first = 0) {
    const where w(key);
    new_record fresh(w, key, std::string_view("\0\0\0\0\0\0\0\0", sizeof by));
    const auto now = sync_.change(1u << w.slot, [&]() -> std::optional<std::int64_t> {
      const auto p = found(w, key);
      std::int64_t number = first;
      if (p.at != nullptr) {
        const std::string_view text = p.at->content.read()->text();
        if (text.size() != sizeof number) return std::nullopt;
        std::memcpy(&number, text.data(), sizeof number);
      }
      number = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) +
                                         static_cast<std::uint64_t>(by));
      std::memcpy(fresh.content.get() + 1, &number, sizeof number);
      put(w, key, fresh);
      return number;
    });
    if (now) fresh.published();
    return now;
  }
  /// Sets all of these atomically.
  void set_all(std::span<const pair> records) {
    std::vector<new_record> fresh;
    unsigned slots = 0;
    fresh.reserve(records.size());
    for (const auto& [key, content] : records) {
      const where w(key);
      fresh.emplace_back(w, key, content);
      slots |= 1u << w.slot;
    }
    sync_.change(slots, [&] {
      for (std::size_t i = 0; i < records.size(); ++i)
        put(where(records[i].first), records[i].first, fresh[i]);
      return true;
    });
    for (auto& f : fresh)
      f.published();
  }
  /// Removes all records, at one moment for all other threads.
  void clear() {
    std::vector<typename parts::template fresh<table>> tables = make_tables();
    sync_.change(detail::kAllCacheSlots, [&] {
      for (unsigned i = 0; i < detail::kCacheSlots; ++i)
        empty(slots_[i], tables[i].get());
      return true;
    });
    for (auto& t : tables)
      t.published();
  }

  /// Calls f(key, content) for each record in one state of the database: slot by slot, and in each
  /// the oldest first. This does not count as use. f must not call the database.
  template <class F>
  void for_each(F f) {
    sync_.look_at_all([&] {
      for (slot& s : slots_) {
        for (const record* r = Sync::see(s.order.get())->oldest.read(); r != nullptr;
             r = r->newer.read())
          f(r->key(), r->content.read()->text());
      }
      return true;
    });
  }
  /// Returns the number of records in one state of the database.
  [[nodiscard]] std::size_t count() {
    return sync_.look_at_all([&] {
      std::size_t sum = 0;
      for (slot& s : slots_)
        sum += Sync::see(s.order.get())->count;
      return sum;
    });
  }

 private:
  struct alignas(64) slot {
    typename Sync::template embedded<typename parts::table_place> buckets;
    typename Sync::template embedded<ends> order;
  };
  struct where {
    unsigned slot;
    std::uint64_t hash;
    where(unsigned s, std::uint64_t h) : slot(s), hash(h) {}
    explicit where(std::string_view key) {
      // Spread by a multiplication, whose high bits depend on all bits, because a hash may be the
      // key itself.
      std::uint64_t h = std::hash<std::string_view>{}(key)*0x9E3779B97F4A7C15u;
      h ^= h >> 32;
      slot = static_cast<unsigned>(h % detail::kCacheSlots);
      hash = h / detail::kCacheSlots;
    }
  };

  // Made before the change that needs it, so that a change can't fail for lack of memory halfway,
  // where it could not be undone.
  struct new_record {
    typename parts::template fresh<value> content;
    typename parts::template fresh<record> place;
    bool is_new = false;  // its place is used as well, because the key was not there

    new_record(const where& w, std::string_view key, std::string_view text)
        : content(parts::make_value(text)), place(parts::make_record(key, w.hash)) {}
    // Called when the change is done.
    void published() noexcept {
      content.published();
      if (is_new) place.published();
    }
  };

  std::vector<typename parts::template fresh<table>> make_tables() const {
    std::vector<typename parts::template fresh<table>> tables;
    tables.reserve(detail::kCacheSlots);
    for (unsigned i = 0; i < detail::kCacheSlots; ++i)
      tables.push_back(parts::make_table(buckets_));
    return tables;
  }
  auto found(const where& w, std::string_view key) {
    table* const t = Sync::see(slots_[w.slot].buckets.get())->now.read();
    return parts::find(t->bucket(w.hash), w.hash, key);
  }
  static bool copy_of(const record* r, std::string& content) {
    if (r == nullptr) return false;
    content = r->content.read()->text();
    return true;
  }

  // The functions below are parts of a change.
  void use(const where& w, record* r) {
    ends* e = Sync::see(slots_[w.slot].order.get());
    if (parts::is_newest(e, r)) return;
    parts::unlink(e, r);
    Sync::own(r);
    parts::append(e, r);
  }
  void put(const where& w, std::string_view key, new_record& fresh) {
    const auto p = found(w, key);
    if (p.at == nullptr) return put_new(w, fresh, p);
    record* r = p.at;
    Sync::own(r);
    value* const before = r->content.get();
    r->content = fresh.content.get();
    Sync::retire(before);
    if (lru_) use(w, r);
  }
  void put_new(const where& w, new_record& fresh, const typename parts::place& p) {
    record* const r = fresh.place.get();
    r->content = fresh.content.get();
    fresh.is_new = true;
    parts::insert(p, r);
    ends* e = Sync::see(slots_[w.slot].order.get());
    parts::append(e, r);
    ++e->count;
    if (e->count > capacity_) {
      const record* const oldest = e->oldest.read();
      const typename parts::place out = found(where(w.slot, oldest->hash), oldest->key());
      if (out.at != nullptr) throw_away(w.slot, out);  // as each record in this order
    }
  }
  void throw_away(unsigned number, const typename parts::place& p) {
    record* const gone = p.at;
    parts::take_out(p);
    ends* e = Sync::see(slots_[number].order.get());
    parts::unlink(e, gone);
    --e->count;
    Sync::retire(gone->content.get());
    Sync::retire(gone);
  }
  void empty(slot& s, table* fresh) {
    auto* buckets = Sync::see(s.buckets.get());
    ends* e = Sync::see(s.order.get());
    Sync::own(buckets);
    Sync::own(e);
    for (record* r = e->oldest.read(); r != nullptr;) {
      record* const next = r->newer.read();
      Sync::retire(r->content.get());
      Sync::retire(r);
      r = next;
    }
    Sync::retire(buckets->now.get());
    buckets->now = fresh;
    e->oldest = nullptr;
    e->newest = nullptr;
    e->count = 0;
  }

  Sync sync_;
  std::array<slot, detail::kCacheSlots> slots_;
  std::size_t buckets_;
  std::size_t capacity_;
  bool lru_;
};

}  // namespace lockswap::rlu
