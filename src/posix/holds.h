// A thread's records of its read holds: of which lock, through which slot, how many times.
//
// Four entries lie in the thread itself and serve nearly every program; a thread that reads more
// locks at once gets a hash table of its own (Kyoto Cabinet holds over a thousand).
//
// Invariants: the entries in use come first, so entry 0 empty means "this thread holds nothing",
//   and the fast paths look at one or two words.
//   One that ends before a later one leaves a gap (kGone) until the later ones have ended, or until
//   it is filled again. The table is used only for what finds the four filled.
// Signals: a handler may lock while this code is interrupted.
//   No entry ever moves, so what the interrupted code has found stays that lock's, unless the
//   handler ends the same hold.
//   An entry becomes valid by one store of its key, before its value is written, and invalid by one
//   store.
//   While entries are looked at (Use), those of other locks are not forgotten (forget_if), and the
//   table does not move. The fast stages, which have no Use, read an entry's token before they look
//   whose it is.
//   While the table is being changed it is marked busy, and a handler's hold goes unrecorded.
//   A handler that leaves with a hold may leave it without a record: its entry is the one that the
//   interrupted code is about to fill or to clear.
// An unrecorded hold, of a handler or for want of memory: the caller marks the lock (marked.h), so
//   that the thread, which no longer knows that it reads, may read it again while a writer waits.
//   Where a handler's record was overwritten nobody knows that, and such a read waits for the
//   reader's patience, if a writer waits.
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
  static constexpr std::uint64_t kGone = 1;  // no lock's address

  // Exists while entries that find returned are in use.
  class Use {
   public:
    explicit Use(Holds& holds) noexcept : holds_(holds) { ++holds_.users_; }
    ~Use() { --holds_.users_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Holds& holds_;
  };

  // Returns whether no code but the caller's, which has a Use, uses entries.
  bool is_alone() const noexcept { return users_ == 1; }

  bool none() const noexcept { return first_[0].key == 0; }
  // Returns whether the only hold of this thread is entry 0 and of that lock, so that it can be
  // cleared, and its token.
  template <bool kHasToken>
  bool only_first(std::uint64_t key, std::uint64_t stamp, std::uint32_t& token) const noexcept {
    token = kHasToken ? first_[0].token : 0;
    in_order();
    return first_[0].key == key && first_[1].key == 0 && first_[0].stamp == stamp;
  }
  // Returns where the hold of a lock can be recorded that the thread does not hold yet, or nullptr
  // if there is no place in the thread, or it holds that lock, or may hold it.
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
  // Returns the last entry in use if it is of that lock, so that it can be cleared, and its token.
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
    // Also where there are no tokens: a handler that read the lock again as its record ended has
    // left its count behind.
    h.begin(kHasToken ? token : 0);
  }
  void clear_first() noexcept { first_[0].key = 0; }

  HoldRecord* find(std::uint64_t key) noexcept {
    for (HoldRecord& h : first_) {
      if (h.key == key) return &h;
    }
    return used_ == 0 ? nullptr : find_in_table(key);
  }

  // Remembers a hold. Returns false if it can't.
  bool add(std::uint64_t key, std::uint64_t stamp, std::uint32_t token) noexcept {
    for (HoldRecord& h : first_) {
      if (h.key > kGone) continue;
      set<true>(h, key, stamp, token);
      return true;
    }
    return add_to_table(HoldRecord{key, stamp, token, 0});
  }

  // Drops the entries in the thread that are no longer true. The caller is_alone().
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
    if (users_ > 1) return false;  // the code that a signal handler interrupted is one of them
    // As large as before where half of what fills it are gaps.
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

  // An entry in a row of filled ones leaves a gap; the last one of a row takes those before it
  // along, so no gap is before an empty entry, and a table without holds has none.
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

  // Drops gaps with nothing in use behind them. If there is a table, its entries stand behind all
  // of them.
  void drop_gaps() noexcept {
    for (std::size_t i = kInline; i-- != 0 && used_ == 0;) {
      if (first_[i].key > kGone) break;
      if (first_[i].key == kGone) first_[i].key = 0;
    }
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

  // Called with the table marked busy.
  void free_table() noexcept {
    if (table_ != nullptr) P::unmap(table_, capacity_ * sizeof(HoldRecord));
    table_ = nullptr;
    capacity_ = 0;
    used_ = filled_ = 0;
  }

  HoldRecord first_[kInline];
  HoldRecord* table_;
  std::uint32_t capacity_;
  std::uint32_t used_;    // with a hold
  std::uint32_t filled_;  // these, and the gaps
  std::uint32_t users_;
  bool busy_;
  bool kept_;  // until the thread ends; else only while something is in it
};

}  // namespace lockswap
