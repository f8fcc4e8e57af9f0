// A page table (four levels in the real machine's version) with a lock in each table; frames; and
// the pages of files.
//
// Large pages (2 MB in the real machine's version): an entry one level above the leaves may be a
// frame of as many pages as a leaf has. If only a part of it is visited, it is first split, so a
// leaf takes its place.
// Invariants: an entry changes under its table's lock. A table is reached from above without a
//   lock; one that is `dead` has been removed, and nothing is put into it. Locks are taken from the
//   root down.
// Order: an entry is published with release and followed with acquire, for the table below it.
#pragma once

#include <cstdint>
#include <map>
#include <new>
#include <type_traits>

#include "platform/atomic.h"

namespace lockswap::address_space {

// A page has a single word.
template <class M, std::size_t kFramePages = 1>
struct Frame {
  // The number of entries of all spaces, plus a file's own.
  typename M::template atomic<std::uint64_t> users;
  // Called under the lock of a table with the entry.
  typename M::template plain<std::uint64_t> values[kFramePages];
  typename M::template plain<std::uint64_t>& at(std::uint64_t page) {
    return values[page % kFramePages];
  }

  static Frame* make(std::uint64_t value) {
    auto* f = fresh();
    for (auto& v : f->values)
      v.set(value);
    return f;
  }
  static Frame* copy_of(const Frame& other) {
    auto* f = fresh();
    for (std::size_t i = 0; i < kFramePages; ++i)
      f->values[i].set(other.values[i].get());
    return f;
  }
  void use() { users.fetch_add(1, relaxed); }  // relaxed: the caller has an entry, so it stays
  void leave() {
    // acq_rel: the last user frees what the others have read and written.
    if (users.fetch_add(~std::uint64_t{0}, acq_rel) == 1) {
      this->~Frame();
      M::template give<Frame>(this);
    }
  }
  // acquire: pairs with leave; what other users read comes before what is written here.
  bool is_alone() const { return users.load(acquire) == 1; }

 private:
  static Frame* fresh() {
    auto* f = new (M::template take<Frame>()) Frame;
    f->users.store(1, relaxed);  // relaxed: nobody else can see it
    return f;
  }
};

template <class M, class Lock = typename M::Lock>
class Held {
 public:
  explicit Held(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Held() { lock_.unlock(); }
  Held(const Held&) = delete;

 private:
  Lock& lock_;
};

// The page cache of a file, or of shared anonymous memory. It has the values that shared mappings
// of a page see, which are accessed under the file's lock.
template <class M>
class File {
 public:
  explicit File(std::uint64_t first) : first_(first) {}
  ~File() {
    for (auto& [page, frame] : frames_)
      frame->leave();
  }
  File(const File&) = delete;
  typename M::Lock lock;
  Frame<M>* frame(std::uint64_t page) {  // under the file's lock
    Frame<M>*& f = frames_[page];
    if (f == nullptr) f = Frame<M>::make(first_ == 0 ? 0 : first_ + page);
    return f;
  }
  std::uint64_t first() const { return first_; }

 private:
  std::uint64_t first_;
  std::map<std::uint64_t, Frame<M>*> frames_;
};

template <class M>
class PageTable {
 public:
  static constexpr int kLevels = M::kLevels;
  static constexpr int kBits = M::kTableBits;
  static constexpr std::uint64_t kPages = std::uint64_t{1} << (kLevels * kBits);
  static constexpr std::uint64_t kWritable = 1;
  // A large page, in a table one level above the leaves.
  static constexpr std::uint64_t kLarge = 2;
  static constexpr std::uint64_t kLargePages = std::uint64_t{1} << kBits;
  using Small = Frame<M>;
  using Large = Frame<M, kLargePages>;

  // What walks write is in a line of its own, because faults on their way to a table below read the
  // entries.
  struct Table {
    alignas(64) typename M::Lock lock;
    // Accessed under the lock.
    typename M::template plain<std::uint32_t> used;
    typename M::template plain<bool> dead;
    alignas(64) typename M::template atomic<std::uint64_t> entries[std::size_t{1} << kBits];
    // This also shows the explorer that nobody may access the table before it is published.
    Table() {
      used.set(0);
      dead.set(false);
    }
  };
  template <class T>
  static T* at(std::uint64_t entry) {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(entry & ~(kWritable | kLarge)));
  }
  static std::uint64_t entry_of(const void* p) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(p));
  }
  static void set(Table& t, std::uint64_t i, std::uint64_t entry) {  // under the lock
    const std::uint64_t old = t.entries[i].load(relaxed);
    if ((old == 0) != (entry == 0)) t.used.set(t.used.get() + (entry == 0 ? -1U : 1U));
    t.entries[i].store(entry, release);
  }
  static std::uint64_t slot(std::uint64_t page, int level) {
    return (page >> (level * kBits)) & ((std::uint64_t{1} << kBits) - 1);
  }

  PageTable() : root_(make()) {}
  ~PageTable() { destroy(root_, kLevels - 1); }
  PageTable(const PageTable&) = delete;

  // Calls f(frame) with the frame's own type.
  template <class F>
  static auto with_frame(std::uint64_t entry, F f) {
    return (entry & kLarge) != 0 ? f(at<Large>(entry)) : f(at<Small>(entry));
  }
  static void use(std::uint64_t entry) {
    with_frame(entry, [](auto* f) { f->use(); });
  }
  static void leave(std::uint64_t entry) {
    with_frame(entry, [](auto* f) { f->leave(); });
  }
  static std::uint64_t pages_of(std::uint64_t entry) {
    return (entry & kLarge) != 0 ? kLargePages : 1;
  }

  // Returns the table that has the page's entry, and its level: the leaf, which is made if it does
  // not exist, or the table above it if there is a large page or, with `large`, one may be made.
  // The table may be dead by now. Returns nullptr if another thread has removed a table on the way.
  struct Place {
    Table* table;
    int level;
  };
  Place place(std::uint64_t page, bool large) { return below<kLevels - 1>(root_, page, large); }

  // For each entry in [start, end), f(page, entry) returns the entry that replaces it. A large page
  // has a single entry. Each table on the way is locked, even if nothing is below it, so that a
  // fault that puts a table or a frame there later sees what this thread did before. A table's lock
  // is released while those below it are visited, so that visits of other pages can go on. Nobody
  // else removes a table with pages of this visit, because a design has locked these for the
  // operation, or has locked all pages.
  template <class F>
  void visit(std::uint64_t start, std::uint64_t end, F f) {
    NothingElse none;
    Walk<F, NothingElse>{start, end, 0, 0, f, none}.visit(root_, kLevels - 1, 0);
  }
  // Tables that are empty afterwards, and have only pages in [first, last), are removed and passed
  // to `retire`.
  template <class F, class Retire>
  void visit_and_prune(std::uint64_t start, std::uint64_t end, std::uint64_t first,
                       std::uint64_t last, F f, Retire retire) {
    Walk<F, Retire>{start, end, first, last, f, retire}.visit(root_, kLevels - 1, 0);
  }
  static void free(Table* t) {
    t->~Table();
    M::template give<Table>(t);
  }

 private:
  struct NothingElse {};
  static Table* make() { return new (M::template take<Table>()) Table; }
  // Returns the place in or below `t`. There is a function for each level, so that the shifts are
  // constants in a fault.
  template <int level>
  [[gnu::always_inline]] static Place below(Table* t, std::uint64_t page, bool large) {
    if constexpr (level == 0) {
      return {t, 0};
    } else {
      const std::uint64_t i = slot(page, level);
      std::uint64_t e = t->entries[i].load(acquire);
      if (level == 1 && (e == 0 ? large : (e & kLarge) != 0)) return {t, 1};
      if (e == 0) {
        e = made_below(*t, i);
        if (e == 0) return {nullptr, level};
        if ((e & kLarge) != 0) return {t, level};
      }
      return below<level - 1>(at<Table>(e), page, large);
    }
  }
  // Returns the entry, after making a table if there is none, or 0 if `t` has been removed. It is a
  // separate function because it is rare, so that a walk that finds its tables needs no stack
  // frame.
  [[gnu::noinline]] static std::uint64_t made_below(Table& t, std::uint64_t i) {
    const Held<M> held(t.lock);
    if (t.dead.get()) return 0;
    std::uint64_t e = t.entries[i].load(relaxed);  // relaxed: written under the lock
    if (e == 0) {
      e = entry_of(make());
      set(t, i, e);
    }
    return e;
  }
  // Called under the lock of `t`: replaces the large page by a leaf. What a child shares since a
  // fork is copied.
  static Table* split(Table& t, std::uint64_t i, std::uint64_t entry) {
    Table* leaf = make();
    auto* large = at<Large>(entry);
    for (std::uint64_t p = 0; p < kLargePages; ++p)
      set(*leaf, p, entry_of(Small::make(large->at(p).get())) | (entry & kWritable));
    set(t, i, entry_of(leaf));
    large->leave();
    return leaf;
  }
  static void destroy(Table* t, int level) {
    for (auto& e : t->entries) {
      const std::uint64_t entry = e.load(relaxed);  // relaxed: nobody uses it any more
      if (entry == 0) continue;
      if (level == 0 || (level == 1 && (entry & kLarge) != 0)) {
        leave(entry);
      } else {
        destroy(at<Table>(entry), level - 1);
      }
    }
    free(t);
  }
  template <class F, class Retire>
  struct Walk {
    std::uint64_t start, end;   // the pages
    std::uint64_t first, last;  // tables without other pages may be removed
    F& f;
    Retire& retire;

    void visit(Table* t, int level, std::uint64_t at_first) {
      t->lock.lock();
      const int shift = level * kBits;
      const std::uint64_t span = std::uint64_t{1} << shift;
      for (std::uint64_t i = start <= at_first ? 0 : (start - at_first) >> shift;
           i < (std::uint64_t{1} << kBits); ++i) {
        const std::uint64_t page = at_first + i * span;
        if (page >= end) break;
        const std::uint64_t e = t->entries[i].load(relaxed);  // relaxed: under the lock
        if (e == 0) continue;
        const bool is_large = level == 1 && (e & kLarge) != 0;
        if (level == 0 || (is_large && start <= page && page + span <= end)) {
          const std::uint64_t changed = f(page, e);
          if (changed != e) set(*t, i, changed);
          continue;
        }
        Table* below = is_large ? split(*t, i, e) : at<Table>(e);
        t->lock.unlock();
        visit(below, level - 1, page);
        t->lock.lock();
        if constexpr (!std::is_same_v<Retire, NothingElse>) {
          if (page >= first && page + span <= last && died(*below)) {
            set(*t, i, 0);
            retire(below);
          }
        }
      }
      t->lock.unlock();
    }
    // Called under the lock of the table above, under which a fault would put it back. Returns
    // whether nothing is in it.
    static bool died(Table& t) {
      const Held<M> held(t.lock);
      if (t.used.get() != 0) return false;
      t.dead.set(true);
      return true;
    }
  };

  Table* root_;
};

}  // namespace lockswap::address_space
