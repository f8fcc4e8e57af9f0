// A thread's records of its read holds: of which lock, through which slot, and how many times.
//
// Four entries lie in the thread itself, which is enough for nearly every program. A thread that
// reads more locks at once gets its own hash table (Kyoto Cabinet holds over a thousand).
//
// Invariants: the entries in use come first. So the thread holds nothing if entry 0 is empty, and
//   the fast paths load only one or two words.
//   If an entry ends before a later one, it leaves a gap (kGone) until the later ones have ended,
//   or until it is filled again. The table gets only what finds the four entries filled.
// Signals: a handler may lock while this code is interrupted.
//   No entry ever moves, so an entry that the interrupted code has found stays that lock's, unless
//   the handler ends the same hold.
//   One store of its key makes an entry valid, before its value is written, and one store makes it
//   invalid.
//   While entries are in use (Use), forget_if drops no entries of other locks, and the table does
//   not move. The fast stages have no Use: they read an entry's token before they check whose it
//   is.
//   While the table is changed, it is marked busy, and a handler's hold is not recorded.
//   A handler that returns with a hold may lose its record, because its entry is the one that the
//   interrupted code is about to fill or clear.
// Unrecorded holds (a handler, no memory): the caller marks the lock (marked.h). So the thread,
//   which does not know any more that it reads the lock, may read it again while a writer waits.
//   Nobody knows that a handler's record was overwritten; then such a read waits for the readers'
//   patience if a writer waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

struct HoldRecord {
  std::uint64_t key;    // the lock's address; 0 = empty; Holds::kGone
  std::uint64_t stamp;  // which generation of the lock, in which process: RwWord::stamp_of
  std::uint32_t token;  // for the lock's read_unlock
  std::uint32_t again;  // recursive holds beyond the first
  // Sets both by one store.
  void begin(std::uint32_t first_token) noexcept {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    const std::uint64_t both = first_token;
    std::memcpy(reinterpret_cast<char*>(this) + offsetof(HoldRecord, token), &both, sizeof both);
  }
};

template <Platform P>
class Holds {
 public:
  static constexpr std::size_t kInline = 4;
  static constexpr std::uint64_t kGone = 1;  // not a lock's address

  // Exists while the caller uses entries that find returned.
  class Use {
   public:
    explicit Use(Holds& holds) noexcept : holds_(holds) { ++holds_.users_; }
    ~Use() { --holds_.users_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Holds& holds_;
  };

  // Returns whether only the caller, which has a Use, uses entries.
  bool is_alone() const noexcept { return users_ == 1; }

  bool none() const noexcept { return first_[0].key == 0; }
  // Returns whether entry 0 is the thread's only hold and of that lock, so that it can be cleared.
  // Also returns its token.
  template <bool kHasToken>
  bool only_first(std::uint64_t key, std::uint64_t stamp, std::uint32_t& token) const noexcept {
    token = kHasToken ? first_[0].token : 0;
    in_order();
    return first_[0].key == key && first_[1].key == 0 && first_[0].stamp == stamp;
  }
  // Returns an entry for a hold of that lock. Returns nullptr if none is free in the thread, or if
  // the thread holds that lock already, or may hold it.
  [[gnu::always_inline]] HoldRecord* place_for(std::uint64_t key) noexcept {
    HoldRecord* gap = nullptr;
    for (HoldRecord& h : first_) {
      if (h.key == key) return nullptr;
      if (h.key > kGone) continue;
      if (gap == nullptr) gap = &h;
      if (h.key == 0) return gap;
    }
    return used_ == 0 ? gap : nullptr;
  }
  // Returns the last entry in use if it is of that lock, so that it can be cleared. Also returns
  // its token.
  template <bool kHasToken>
  [[gnu::always_inline]] HoldRecord* newest(std::uint64_t key, std::uint64_t stamp,
                                            std::uint32_t& token) noexcept {
    for (HoldRecord* h = first_; h != first_ + kInline; ++h) {
      token = kHasToken ? h->token : 0;
      in_order();
      if (h->key != key) continue;
      const bool is_last = (h != first_ + kInline - 1 ? h[1].key : used_) == 0;
      return is_last && h->stamp == stamp ? h : nullptr;
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
    // Also without tokens: this clears the count that a handler leaves behind if it has read the
    // lock again just as its record ended.
    h.begin(kHasToken ? token : 0);
  }
  void clear_first() noexcept { first_[0].key = 0; }

  HoldRecord* find(std::uint64_t key) noexcept {
    for (HoldRecord& h : first_) {
      if (h.key == key) return &h;
    }
    return used_ == 0 ? nullptr : find_in_table(key);
  }

  // Records a hold. Returns false if there is no room.
  bool add(std::uint64_t key, std::uint64_t stamp, std::uint32_t token) noexcept {
    for (HoldRecord& h : first_) {
      if (h.key > kGone) continue;
      set<true>(h, key, stamp, token);
      return true;
    }
    return add_to_table(HoldRecord{key, stamp, token, 0});
  }

  // Drops the thread's own entries that are stale. The caller must be is_alone().
  template <class Pred>
  void forget_if(Pred stale) noexcept {
    for (std::size_t i = kInline; i-- != 0;) {
      if (first_[i].key > kGone && stale(first_[i])) remove(&first_[i]);
    }
  }

  void remove(HoldRecord* h) noexcept {
    if (h >= first_ && h < first_ + kInline) {
      h->key = kGone;
      in_order();
      drop_gaps();
    } else {
      busy_ = true;
      in_order();
      remove_from_table(static_cast<std::uint32_t>(h - table_));
      in_order();
      busy_ = false;
      drop_gaps();
    }
  }

 private:
  // Keeps the compiler from reordering stores, because a signal handler may run between them.
  static void in_order() noexcept { signal_fence(); }

  static std::uint32_t hash(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>((key * 0x9E3779B97F4A7C15u) >> 32);
  }
  std::uint32_t home(std::uint64_t key) const noexcept { return hash(key) & (capacity_ - 1); }

  [[gnu::noinline]] HoldRecord* find_in_table(std::uint64_t key) noexcept {
    if (busy_) return nullptr;  // in a signal handler, which interrupted a change
    for (std::uint32_t i = home(key); table_[i].key != 0; i = (i + 1) & (capacity_ - 1)) {
      if (table_[i].key == key) return &table_[i];
    }
    return nullptr;
  }

  [[gnu::noinline]] bool add_to_table(HoldRecord hold) noexcept {
    if (busy_) return false;
    busy_ = true;
    in_order();
    const bool fits = filled_ * 2 < capacity_ || grow();
    if (fits) insert(hold);
    in_order();
    busy_ = false;
    return fits;
  }

  void insert(HoldRecord hold) noexcept {
    std::uint32_t i = home(hold.key);
    while (table_[i].key > kGone)
      i = (i + 1) & (capacity_ - 1);
    if (table_[i].key == 0) ++filled_;
    table_[i] = hold;
    ++used_;
  }

  bool grow() noexcept {
    if (users_ > 1) return false;  // the code that a signal handler interrupted uses an entry
    // Keeps the size if at least half of the filled entries are gaps.
    const std::uint32_t capacity = capacity_ == 0          ? 256
                                   : used_ * 4 < capacity_ ? capacity_
                                                           : capacity_ * 2;
    auto* bigger = static_cast<HoldRecord*>(P::map(capacity * sizeof(HoldRecord)));
    if (bigger == nullptr) return false;
    HoldRecord* old = table_;
    const std::uint32_t old_capacity = capacity_;
    table_ = bigger;
    capacity_ = capacity;
    used_ = filled_ = 0;
    for (std::uint32_t i = 0; i < old_capacity; ++i) {
      if (old[i].key > kGone) insert(old[i]);
    }
    if (old != nullptr) P::unmap(old, old_capacity * sizeof(HoldRecord));
    kept_ = P::on_thread_exit(&at_thread_exit);
    return true;
  }

  // Leaves a gap if the next entry is filled. Otherwise it clears this entry and all gaps before
  // it, so no gap precedes an empty entry, and a table without holds has no gaps.
  void remove_from_table(std::uint32_t i) noexcept {
    --used_;
    if (table_[(i + 1) & (capacity_ - 1)].key != 0) {
      table_[i].key = kGone;
    } else {
      do {
        table_[i].key = 0;
        --filled_;
        i = (i - 1) & (capacity_ - 1);
      } while (table_[i].key == kGone);
    }
    if (used_ == 0 && !kept_) free_table();
  }

  // Clears gaps that no used entry follows. Entries of a table count as following all of them.
  void drop_gaps() noexcept {
    for (std::size_t i = kInline; i-- != 0 && used_ == 0;) {
      if (first_[i].key > kGone) break;
      if (first_[i].key == kGone) first_[i].key = 0;
    }
  }

  // Frees the table in the last round even if the thread still has holds, because nobody else can
  // read the records.
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

  // Called while the table is marked busy.
  void free_table() noexcept {
    if (table_ != nullptr) P::unmap(table_, capacity_ * sizeof(HoldRecord));
    table_ = nullptr;
    capacity_ = 0;
    used_ = filled_ = 0;
  }

  HoldRecord first_[kInline];
  HoldRecord* table_;
  std::uint32_t capacity_;
  std::uint32_t used_;    // entries with a hold
  std::uint32_t filled_;  // these and the gaps
  std::uint32_t users_;
  bool busy_;
  bool kept_;  // until the thread ends; otherwise freed when it is empty
};

}  // namespace lockswap
