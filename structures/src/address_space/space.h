// An address space: regions, a page table, and a design that synchronises the operations on them.
//
// Software: every access is a fault, which finds the region, fills the entry and accesses the
//   frame. There is no TLB, so nothing bypasses the design.
// Operations that change regions: the design excludes the operations that must not run at the same
//   time. Then the operation 1. hides the regions that change from faults, 2. removes entries, 3.
//   edits the index. Accesses before 1 see the old state, and those after 3 the new one. No access
//   sees a mixture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "address_space/change.h"
#include "address_space/index.h"
#include "address_space/page_table.h"
#include "address_space/region.h"

namespace lockswap::address_space {

enum class Filled : std::uint8_t { done, refused, under_lock };  // under_lock: retry with locks
struct Outcome {
  Filled result;
  std::uint64_t value;
};

template <class M, template <class> class Design>
class Space {
  using Sync = Design<M>;
  using Pages = PageTable<M>;
  using Extents = std::vector<Extent<M>>;
  using Regions = std::vector<Region<M>*>;

 public:
  using Machine = M;
  using Hand = typename Sync::Hand;  // each thread has one
  Sync& sync() { return sync_; }
  // Called before there are other threads. A fault in memory without a file then fills a large
  // page, if its region contains all of it and nothing is there yet (like Linux's transparent huge
  // pages, set to always).
  void use_large_pages() {
    large_ = true;
    sync_.faults_fill(Pages::kLargePages);
  }

  // Called before there are other threads. An access below a stack region then makes it grow, as in
  // Linux, if it has at most `most` pages and `gap` pages stay free below it.
  void use_stacks(std::uint64_t most, std::uint64_t gap) {
    stack_most_ = most;
    stack_gap_ = gap;
  }
  // Called before there are other threads. The first fault in a region of memory must then register
  // it with the reverse maps (Linux's anon_vma), and does so under the lock (Bonsai, section 6).
  void use_reverse_maps() { prepares_ = true; }

  // --- accesses. Return false if no region there allows the access.
  bool read(Hand& h, std::uint64_t page, std::uint64_t& value) {
    const Outcome o = access<false>(h, page, 0);
    value = o.value;
    return o.result == Filled::done;
  }
  bool write(Hand& h, std::uint64_t page, std::uint64_t value) {
    return access<true>(h, page, value).result == Filled::done;
  }

  // --- operations on [start, end)
  void map(Hand& h, const Extent<M>& what) { change(h, Change::map, Edit::put, what); }
  void unmap(Hand& h, std::uint64_t start, std::uint64_t end) {
    change(h, Change::unmap, Edit::remove, {.start = start, .end = end});
  }
  // Returns false if not all of it is mapped. The mapped pages are still changed, as mprotect does
  // before it returns ENOMEM.
  bool protect(Hand& h, std::uint64_t start, std::uint64_t end, std::uint32_t protection) {
    return change(h, Change::protect, Edit::protect,
                  {.start = start, .end = end, .protection = protection});
  }
  // madvise(MADV_DONTNEED): frees the frames and keeps the regions.
  void discard(Hand& h, std::uint64_t start, std::uint64_t end) {
    sync_.change(h, Change::discard, start, end, [&](const Allowed& allowed) {
      hidden_and_shown(sync_.index().around(start, end), [&] { drop(start, end, allowed); });
      return Tried::done;
    });
  }
  // The heap is [first, brk). move_brk returns false if it would end before it begins.
  void begin_heap(std::uint64_t first) {
    heap_ = first;
    brk_.store(first, relaxed);  // relaxed: no other thread has the space yet
  }
  bool move_brk(Hand& h, std::uint64_t to) {
    if (to < heap_) return false;
    // relaxed: a guess, which is rechecked under the locks that it selects.
    const std::uint64_t guess = brk_.load(relaxed);
    sync_.change(
        h, Change::brk, std::min(guess, to), std::max(guess, to), [&](const Allowed& allowed) {
          const std::uint64_t now = brk_.load(relaxed);  // stays, because its page is locked
          if (!allowed.structure && now != guess) return Tried::moved;
          Tried how = Tried::done;
          if (to > now)
            how = edit(Edit::put, {.start = now, .end = to, .protection = kRead | kWrite}, allowed);
          if (to < now) how = edit(Edit::remove, {.start = to, .end = now}, allowed);
          // relaxed: others rely on it only under a lock of its page.
          if (how == Tried::done) brk_.store(to, relaxed);
          return how;
        });
    return true;
  }
  // The child is new, and no thread has it yet.
  void fork_to(Hand& h, Space& child) {
    sync_.change(h, Change::fork, 0, Pages::kPages, [&](const Allowed&) {
      const Regions all = sync_.index().around(0, Pages::kPages);
      hidden_and_shown(all, [&] {
        for (Region<M>* r : all) {
          const Extent<M> e = r->extent();
          Region<M>* const copy = made(e);
          if (prepares_) copy->prepared.store(r->prepared.load(relaxed), relaxed);
          child.sync_.index().insert(copy);
          table_.visit(e.start, e.end, [&](std::uint64_t page, std::uint64_t entry) {
            if (!e.shared) entry &= ~Pages::kWritable;
            Pages::use(entry);
            const auto place = child.table_.place(page, (entry & Pages::kLarge) != 0);
            Pages::set(*place.table, Pages::slot(page, place.level), entry);
            return entry;
          });
        }
      });
      if (large_) child.use_large_pages();
      child.use_stacks(stack_most_, stack_gap_);
      child.prepares_ = prepares_;
      child.heap_ = heap_;
      // relaxed: one can't move, the other is unknown.
      child.brk_.store(brk_.load(relaxed), relaxed);
      return Tried::done;
    });
  }
  // For tests, while no thread is in an operation.
  std::uint64_t large_pages() {
    std::uint64_t count = 0;
    table_.visit(0, Pages::kPages, [&](std::uint64_t, std::uint64_t entry) {
      count += (entry & Pages::kLarge) != 0 ? 1 : 0;
      return entry;
    });
    return count;
  }
  Extents regions() {
    Extents all;
    for (Region<M>* r : sync_.index().around(0, Pages::kPages))
      all.push_back(r->extent());
    return all;
  }
  // Returns the number of entries for pages that no region has, because a fault filled them too
  // late.
  std::uint64_t strays() {
    std::uint64_t count = 0;
    table_.visit(0, Pages::kPages, [&](std::uint64_t page, std::uint64_t entry) {
      const Region<M>* r = sync_.index().floor(page);
      const std::uint64_t last = page + Pages::pages_of(entry) - 1;
      count += r == nullptr || !r->has(page) || !r->has(last) ? 1 : 0;
      return entry;
    });
    return count;
  }

  // Returns the number of memory pages in regions that are not registered with the reverse maps.
  std::uint64_t unprepared() {
    std::uint64_t count = 0;
    table_.visit(0, Pages::kPages, [&](std::uint64_t page, std::uint64_t entry) {
      const Region<M>* r = sync_.index().floor(page);
      if (r != nullptr && r->file == nullptr && r->prepared.load(relaxed) == 0)
        count += Pages::pages_of(entry);
      return entry;
    });
    return count;
  }

 private:
  static Region<M>* made(const Extent<M>& e) {
    return new (M::template take<Region<M>>()) Region<M>(e);
  }

  template <bool write>
  Outcome access(Hand& h, std::uint64_t page, std::uint64_t value) {
    for (;;) {
      const Outcome o = sync_.fault(h, page, [this, page, value](Region<M>* r, bool locked) {
        return locked ? fill<write, true>(r, page, value) : fill<write, false>(r, page, value);
      });
      if (o.result != Filled::refused || stack_most_ == 0) [[likely]]
        return o;
      // Repeated, because an operation may come between.
      if (!grow_stack(h, page, write ? kWrite : kRead)) return o;
    }
  }
  // Returns whether a region that allows that access has the page now.
  [[gnu::noinline, gnu::cold]] bool grow_stack(Hand& h, std::uint64_t page, std::uint32_t access) {
    bool is_there = false;
    sync_.change(h, Change::grow, page, page + 1, [&](const Allowed& allowed) {
      const std::uint64_t below = page > stack_gap_ ? page - stack_gap_ : 0;
      for (Region<M>* r : sync_.index().around(below, page + stack_most_)) {
        if (r->end.load(relaxed) + stack_gap_ <= page) continue;
        Extent<M> e = r->extent();
        is_there = r->has(page) && (e.protection & access) != 0;
        if (e.start <= page || !e.stack || e.end - page > stack_most_) break;
        is_there = (e.protection & access) != 0;
        e.end = e.start;
        e.start = page;
        edit(Edit::put, e, allowed);
        break;
      }
      return Tried::done;
    });
    return is_there;
  }
  // locked: nobody changes the region. Otherwise it may be gone, and only a minor fault is done
  // here.
  template <bool write, bool locked>
  Outcome fill(Region<M>* r, std::uint64_t page, std::uint64_t value) {
    const Filled no = locked ? Filled::refused : Filled::under_lock;
    if (r == nullptr || !r->has(page)) return {no, 0};
    const std::uint64_t allowed = r->protection.load(relaxed);
    if ((allowed & (write ? kWrite : kRead)) == 0) return {no, 0};
    if (!locked && r->file != nullptr) return {no, 0};
    if (prepares_ && r->file == nullptr && r->prepared.load(relaxed) == 0) {
      if (!locked) return {no, 0};
      r->prepared.store(1, relaxed);
    }
    const bool large = may_be_large(*r, page);
    for (;;) {
      const auto place = table_.place(page, large);
      if (place.table == nullptr) return {Filled::under_lock, 0};
      const Held<M> held(place.table->lock);
      if (place.table->dead.get()) return {Filled::under_lock, 0};
      // A change marks the region before it takes this lock to empty the table.
      if (!locked && r->gone.load(relaxed) != 0) return {no, 0};
      const Spot spot{place.table, place.level, page};
      // Without the lock, a region with a file has returned before the loop.
      if (locked && r->file != nullptr) {
        const Held<M> its(r->file->lock);
        return touch<typename Pages::Small, write, locked>(*r, spot, value);
      }
      if (place.level == 0) return touch<typename Pages::Small, write, locked>(*r, spot, value);
      // Another thread has split the page, or removed it.
      const std::uint64_t entry = spot.entry();
      if (entry == 0 ? !large : (entry & Pages::kLarge) == 0) continue;
      return touch<typename Pages::Large, write, locked>(*r, spot, value);
    }
  }
  bool may_be_large(const Region<M>& r, std::uint64_t page) const {
    if (!large_ || r.file != nullptr || Pages::kLevels == 1) return false;
    const std::uint64_t first = page - page % Pages::kLargePages;
    return r.has(first) && r.has(first + Pages::kLargePages - 1);
  }
  // The place of a page's entry. Accessed under its table's lock.
  struct Spot {
    typename Pages::Table* table;
    int level;
    std::uint64_t page;
    std::uint64_t slot() const { return Pages::slot(page, level); }
    std::uint64_t entry() const { return table->entries[slot()].load(relaxed); }  // under the lock
  };
  template <class F, bool write, bool locked>
  Outcome touch(Region<M>& r, const Spot& spot, std::uint64_t value) {
    constexpr bool kIsLarge = std::is_same_v<F, typename Pages::Large>;
    std::uint64_t entry = spot.entry();
    const auto show = [&](F* f, bool writable) {
      entry =
          Pages::entry_of(f) | (writable ? Pages::kWritable : 0) | (kIsLarge ? Pages::kLarge : 0);
      Pages::set(*spot.table, spot.slot(), entry);
    };
    if (entry == 0) {
      if (!locked || r.file == nullptr) {
        show(F::make(0), write);
      } else if constexpr (!kIsLarge) {
        F* f = r.file->frame(spot.page - r.base);
        f->use();
        show(f, write && r.shared);
      }
    }
    auto* f = Pages::template at<F>(entry);
    if (write && (entry & Pages::kWritable) == 0) {
      if (r.shared || f->is_alone()) {
        show(f, true);
      } else {  // copy-on-write
        if (!locked) return {Filled::under_lock, 0};
        show(F::copy_of(*f), true);
        f->leave();
        f = Pages::template at<F>(entry);
      }
    }
    if (write) f->at(spot.page).set(value);
    return {Filled::done, f->at(spot.page).get()};
  }

  bool change(Hand& h, Change kind, Edit edit_as, const Extent<M>& what) {
    bool whole = true;
    sync_.change(h, kind, what.start, what.end,
                 [&](const Allowed& allowed) { return edit(edit_as, what, allowed, &whole); });
    return whole;
  }
  Tried edit(Edit edit_as, const Extent<M>& what, const Allowed& allowed, bool* whole = nullptr) {
    const Regions old = sync_.index().around(what.start, what.end);
    Extents before;
    std::uint64_t mapped = 0;
    for (Region<M>* r : old) {
      before.push_back(r->extent());
      const Extent<M>& e = before.back();
      if (e.start < what.end && e.end > what.start)
        mapped += std::min(e.end, what.end) - std::max(e.start, what.start);
    }
    if (whole != nullptr) *whole = mapped == what.end - what.start;
    const Extents after = edited(before, edit_as, what);
    bool in_place = before.size() == after.size();
    for (std::size_t i = 0; in_place && i < after.size(); ++i)
      in_place = after[i].is_part_of(before[i]);
    if (!allowed.structure && !in_place) return Tried::structural;

    Regions hidden;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (std::ranges::find(after, before[i]) == after.end()) hidden.push_back(old[i]);
    }
    // A new mapping that replaces one of the same kind leaves the regions unchanged.
    if (hidden.empty() && edit_as == Edit::put) hidden = old;
    sync_.hide(hidden);
    if (edit_as == Edit::protect) {
      if ((what.protection & kWrite) == 0) {
        make_read_only(what.start, what.end);
      } else if (large_) {  // a large page must be in a single region
        table_.visit(what.start, what.end, [](std::uint64_t, std::uint64_t e) { return e; });
      }
    } else {
      drop(what.start, what.end, allowed);
    }
    if (in_place && Sync::kInPlace) {
      for (std::size_t i = 0; i < old.size(); ++i) {
        for (std::size_t k = 0; k < old.size(); ++k)
          inherit(*old[i], after[i], *old[k], before[k]);
        old[i]->take(before[i], after[i]);
      }
    } else {
      replace(hidden, before, after);
    }
    sync_.show();
    return Tried::done;
  }
  void replace(const Regions& hidden, const Extents& before, const Extents& after) {
    auto& index = sync_.index();
    Extents fresh;
    for (const Extent<M>& e : after) {
      bool stays = std::ranges::find(before, e) != before.end();
      for (Region<M>* r : hidden)
        stays = stays && r->extent() != e;
      if (!stays) fresh.push_back(e);
    }
    for (Region<M>* r : hidden) {
      r->gone.store(1, relaxed);  // relaxed: see Region::gone; unused if faults hold a lock
      index.erase(r);
    }
    for (const Extent<M>& e : fresh) {
      Region<M>* const r = made(e);
      for (const Region<M>* h : hidden)
        inherit(*r, e, *h, h->extent());
      index.insert(r);
    }
    for (Region<M>* r : hidden)
      index.retire(r);
    index.reclaim();
  }
  // A region that gets pages of a registered region is registered as well.
  void inherit(Region<M>& to, const Extent<M>& pages, const Region<M>& from,
               const Extent<M>& were) {
    if (!prepares_ || were.start >= pages.end || were.end <= pages.start) return;
    if (from.prepared.load(relaxed) != 0) to.prepared.store(1, relaxed);
  }
  // An operation that only changes frames. If a mark hides regions, copies take their place.
  template <class F>
  void hidden_and_shown(const Regions& regions, F f) {
    sync_.hide(regions);
    f();
    if constexpr (!Sync::kInPlace) {
      Extents same;
      for (Region<M>* r : regions)
        same.push_back(r->extent());
      replace(regions, same, same);
    }
    sync_.show();
  }

  void drop(std::uint64_t start, std::uint64_t end, const Allowed& allowed) {
    table_.visit_and_prune(
        start, end, allowed.first, allowed.last,
        [](std::uint64_t, std::uint64_t entry) {
          Pages::leave(entry);
          return std::uint64_t{0};
        },
        [&](typename Pages::Table* t) { sync_.index().retire(t); });
    sync_.index().reclaim();
  }
  void make_read_only(std::uint64_t start, std::uint64_t end) {
    table_.visit(start, end, [](std::uint64_t, std::uint64_t e) { return e & ~Pages::kWritable; });
  }

  Sync sync_;
  alignas(64) Pages table_;
  bool large_ = false;
  bool prepares_ = false;
  std::uint64_t stack_most_ = 0, stack_gap_ = 0;  // pages; 0: stacks don't grow
  std::uint64_t heap_ = 0;
  alignas(64) typename M::template atomic<std::uint64_t> brk_;
};

}  // namespace lockswap::address_space
