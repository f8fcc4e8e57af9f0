// A thread's records of its read holds: of which lock, through which slot, how many times.
//
// Four entries lie in the thread itself and serve nearly every program; a thread that reads more
// locks at once gets a hash table of its own (Kyoto Cabinet holds over a thousand).
//
// Invariants: `again` of an empty entry is 0. The entries are packed: entry 0 empty means "this
//   thread holds nothing"; the table is used only while all four are full. So the fast paths look
//   at one or two words.
// Signals: a handler may lock while this code is interrupted.
//   An entry becomes valid by one store of its key, before its value is written, and invalid by one
//   store.
//   While the table is being changed it is marked busy, and a handler's hold goes unrecorded.
//   While entries of it are looked at (Use), a handler's holds go into it and out again, but it
//   does not move.
// An unrecorded hold, of a handler or for want of memory: the caller marks the lock (marked.h), so
//   that the thread, which no longer knows that it reads, may read it again while a writer waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

struct HoldRecord {
  std::uint64_t key;    // the lock's address; 0 = empty
  std::uint64_t stamp;  // which generation of the lock, in which process: RwWord::stamp_of
  std::uint32_t token;  // for the lock's read_unlock
  std::uint32_t again;  // recursive holds beyond the first
};

template <Platform P>
class Holds {
 public:
  static constexpr std::size_t kInline = 4;

  // Exists while entries that find returned are looked at.
  class Use {
   public:
    explicit Use(Holds& holds) noexcept : holds_(holds) { ++holds_.users_; }
    ~Use() { --holds_.users_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Holds& holds_;
  };

  bool none() const noexcept { return first_[0].key == 0; }
  // The only hold of this thread is entry 0, and of that lock: it can be cleared without packing.
  bool only_first(std::uint64_t key, std::uint64_t stamp) const noexcept {
    return first_[0].key == key && first_[1].key == 0 && first_[0].stamp == stamp;
  }
  HoldRecord& first() noexcept { return first_[0]; }
  // Where a hold of a lock can go that the thread does not hold yet; nullptr: not in the thread, or
  // it holds that lock.
  [[gnu::always_inline]] HoldRecord* place_for(std::uint64_t key) noexcept {
    for (HoldRecord& h : first_) {
      if (h.key == 0) return &h;
      if (h.key == key) return nullptr;
    }
    return nullptr;
  }
  // The entry that was filled last, if it is of that lock: it can be cleared without packing.
  [[gnu::always_inline]] HoldRecord* newest(std::uint64_t key, std::uint64_t stamp) noexcept {
    for (std::size_t i = 0; i < kInline; ++i) {
      HoldRecord& h = first_[i];
      if (h.key != key) continue;
      const bool is_last = (i + 1 < kInline ? first_[i + 1].key : used_) == 0;
      return is_last && h.stamp == stamp ? &h : nullptr;
    }
    return nullptr;
  }

  template <bool kHasToken>
  void set_first(std::uint64_t key, std::uint64_t stamp, std::uint32_t token) noexcept {
    set<kHasToken>(first_[0], key, stamp, token);
  }
  template <bool kHasToken>
  static void set(HoldRecord& h, std::uint64_t key, std::uint64_t stamp,
                  std::uint32_t token) noexcept {
    h.key = key;
    in_order();
    h.stamp = stamp;
    if constexpr (kHasToken) h.token = token;
  }
  void clear_first() noexcept { first_[0].key = 0; }

  HoldRecord* find(std::uint64_t key) noexcept {
    for (HoldRecord& h : first_) {
      if (h.key == key) return &h;
      if (h.key == 0) return nullptr;
    }
    return used_ == 0 ? nullptr : find_in_table(key);
  }

  // Remembers a hold. False: it can't.
  bool add(std::uint64_t key, std::uint64_t stamp, std::uint32_t token) noexcept {
    for (HoldRecord& h : first_) {
      if (h.key != 0) continue;
      set<true>(h, key, stamp, token);
      return true;
    }
    return add_to_table(HoldRecord{key, stamp, token, 0});
  }

  // Drops the entries in the thread that are no longer true.
  template <class Pred>
  void forget_if(Pred stale) noexcept {
    for (std::size_t i = kInline; i-- != 0;) {
      if (first_[i].key != 0 && stale(first_[i])) remove(&first_[i]);
    }
  }

  void remove(HoldRecord* h) noexcept {
    if (h >= first_ && h < first_ + kInline) {
      HoldRecord* last = h;
      while (last + 1 < first_ + kInline && last[1].key != 0)
        ++last;
      // For a moment an entry may be there twice, never missing.
      if (last != h) *h = *last;
      in_order();
      last->key = 0;
      last->again = 0;
      if (used_ != 0) refill(last);
    } else {
      busy_ = true;
      in_order();
      remove_from_table(static_cast<std::uint32_t>(h - table_));
      in_order();
      busy_ = false;
    }
  }

 private:
  // Keeps the compiler from reordering stores that a signal handler may look between.
  static void in_order() noexcept { signal_fence(); }

  static std::uint32_t hash(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>((key * 0x9E3779B97F4A7C15u) >> 32);
  }
  std::uint32_t home(std::uint64_t key) const noexcept { return hash(key) & (capacity_ - 1); }

  [[gnu::noinline]] HoldRecord* find_in_table(std::uint64_t key) noexcept {
    if (busy_) return nullptr;  // a signal handler: whatever it interrupted is half done
    for (std::uint32_t i = home(key); table_[i].key != 0; i = (i + 1) & (capacity_ - 1)) {
      if (table_[i].key == key) return &table_[i];
    }
    return nullptr;
  }

  [[gnu::noinline]] bool add_to_table(HoldRecord hold) noexcept {
    if (busy_) return false;
    busy_ = true;
    in_order();
    const bool fits = used_ * 2 < capacity_ || grow();
    if (fits) insert(hold);
    in_order();
    busy_ = false;
    return fits;
  }

  void insert(HoldRecord hold) noexcept {
    std::uint32_t i = home(hold.key);
    while (table_[i].key != 0)
      i = (i + 1) & (capacity_ - 1);
    table_[i] = hold;
    ++used_;
  }

  bool grow() noexcept {
    if (users_ > 1) return false;  // the code that a signal handler interrupted is one of them
    const std::uint32_t capacity = capacity_ == 0 ? 256 : capacity_ * 2;
    auto* bigger = static_cast<HoldRecord*>(P::map(capacity * sizeof(HoldRecord)));
    if (bigger == nullptr) return false;
    HoldRecord* old = table_;
    const std::uint32_t old_capacity = capacity_;
    table_ = bigger;
    capacity_ = capacity;
    used_ = 0;
    for (std::uint32_t i = 0; i < old_capacity; ++i) {
      if (old[i].key != 0) insert(old[i]);
    }
    if (old != nullptr) P::unmap(old, old_capacity * sizeof(HoldRecord));
    kept_ = P::on_thread_exit(&at_thread_exit);
    return true;
  }

  // Linear probing without tombstones: entries behind the hole move up.
  void remove_from_table(std::uint32_t hole) noexcept {
    for (std::uint32_t i = (hole + 1) & (capacity_ - 1); table_[i].key != 0;
         i = (i + 1) & (capacity_ - 1)) {
      const std::uint32_t distance = (i - home(table_[i].key)) & (capacity_ - 1);
      if (distance >= ((i - hole) & (capacity_ - 1))) {
        table_[hole] = table_[i];
        hole = i;
      }
    }
    table_[hole].key = 0;
    --used_;
    if (used_ == 0 && !kept_) free_table();
  }

  // Packs: an inline entry became free while the table has some.
  void refill(HoldRecord* empty) noexcept {
    if (busy_) return;
    busy_ = true;
    in_order();
    pack(empty);
    in_order();
    busy_ = false;
  }

  // Until the table was marked busy a signal handler may have done it, or emptied the table.
  void pack(HoldRecord* empty) noexcept {
    if (used_ == 0 || empty->key != 0) return;
    while (table_[cursor_ & (capacity_ - 1)].key == 0)
      ++cursor_;
    const std::uint32_t i = cursor_ & (capacity_ - 1);
    *empty = table_[i];
    remove_from_table(i);
  }

  // In the last round the table is freed even if the thread has holds left: nobody else can read
  // the records.
  static void at_thread_exit() noexcept {
    Holds& mine = P::template local<Holds>();
    mine.kept_ = P::on_thread_exit(&at_thread_exit);
    if (mine.used_ != 0 && mine.kept_) return;
    mine.busy_ = true;
    in_order();
    mine.free_table();
    in_order();
    mine.busy_ = false;
  }

  // The table is marked busy.
  void free_table() noexcept {
    if (table_ != nullptr) P::unmap(table_, capacity_ * sizeof(HoldRecord));
    table_ = nullptr;
    capacity_ = 0;
    used_ = 0;
  }

  HoldRecord first_[kInline];
  HoldRecord* table_;
  std::uint32_t capacity_;
  std::uint32_t used_;
  std::uint32_t cursor_;  // where refill looked last
  std::uint32_t users_;
  bool busy_;
  bool kept_;  // until the thread ends; else only while something is in it
};

}  // namespace lockswap
