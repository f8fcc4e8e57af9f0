// Regions of an address space, and what an operation makes of them. Addresses are page numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace lockswap::address_space {

enum Protection : std::uint32_t { kNone = 0, kRead = 1, kWrite = 2 };

template <class M>
class File;

// What a region is, without the synchronisation. Page p shows page p - base of the file.
template <class M>
struct Extent {
  std::uint64_t start = 0, end = 0;
  std::uint32_t protection = kNone;
  bool shared = false;
  File<M>* file = nullptr;  // nullptr if it is anonymous
  std::uint64_t base = 0;   // 0 without a file
  bool stack = false;       // grows downwards to what is accessed below it

  bool operator==(const Extent&) const = default;
  bool continues(const Extent& before) const {
    return before.end == start && before.protection == protection && is_part_of(before);
  }
  bool is_part_of(const Extent& o) const {
    return shared == o.shared && file == o.file && base == o.base && stack == o.stack;
  }
};

// A machine for designs that never write bounds in place may have plain ones.
template <class M>
struct BoundOf {
  using type = typename M::template atomic<std::uint64_t>;
};
template <class M>
requires requires { typename M::Bound; }
struct BoundOf<M> {
  using type = typename M::Bound;
};

// In lines of its own: those beside it come and go while faults look at it.
template <class M>
struct alignas(64) Region {
  using Word = typename M::template atomic<std::uint64_t>;
  using Bound = typename BoundOf<M>::type;
  // Written in place by designs whose readers hold a lock, and then only under a lock on each page
  // that comes or goes. relaxed: a reader holds a lock on the page that it asks for, so it sees
  // each move across that page; other moves leave the page on its side. Where readers hold no lock
  // these are written before the region is shown.
  Bound start, end, protection;
  bool shared, stack;
  File<M>* file;
  std::uint64_t base;
  // Not 0: no longer what the space is (Bonsai's mark for deleted regions). relaxed: in the RCU
  // designs what follows the mark takes the locks that are held where it is read; in per-vma the
  // space's number is released after it.
  Word gone;
  Word holders;  // per-vma: kWriter, or so many faults
  Word count;    // per-vma: the space's number when it was last write-locked
  // Not 0: reverse maps know of it. relaxed: it goes with nothing; it is written under a lock that
  // keeps the region, and where another one takes the region's place before that one is shown.
  Word prepared;

  explicit Region(const Extent<M>& e)
      : shared(e.shared), stack(e.stack), file(e.file), base(e.base) {
    take({}, e);
  }
  // What does not change is not written: its other end may be another thread's.
  void take(const Extent<M>& from, const Extent<M>& to) {
    if (from.start != to.start) start.store(to.start, relaxed);
    if (from.end != to.end) end.store(to.end, relaxed);
    if (from.protection != to.protection) protection.store(to.protection, relaxed);
  }
  static void free(Region* r) {
    r->~Region();
    M::template give<Region>(r);
  }
  bool has(std::uint64_t page) const {
    return start.load(relaxed) <= page && page < end.load(relaxed);
  }
  Extent<M> extent() const {
    return {start.load(relaxed),
            end.load(relaxed),
            static_cast<std::uint32_t>(protection.load(relaxed)),
            shared,
            file,
            base,
            stack};
  }
};

// The regions that an operation touches, with their neighbours, and what they become: `before`
// without the range, or with another protection there, or with a new extent there; those that
// continue each other merged.
enum class Edit : std::uint8_t { remove, protect, put };
template <class M>
std::vector<Extent<M>> edited(const std::vector<Extent<M>>& before, Edit edit,
                              const Extent<M>& what) {
  std::vector<Extent<M>> parts;
  const auto add = [&parts](Extent<M> e, std::uint64_t start, std::uint64_t end) {
    e.start = std::max(e.start, start);
    e.end = std::min(e.end, end);
    if (e.start < e.end) parts.push_back(e);
  };
  for (const Extent<M>& e : before) {
    add(e, 0, what.start);
    if (edit == Edit::protect) {
      Extent<M> changed = e;
      changed.protection = what.protection;
      add(changed, what.start, what.end);
    }
    add(e, what.end, ~std::uint64_t{0});
  }
  if (edit == Edit::put) parts.push_back(what);
  std::ranges::sort(parts, {}, &Extent<M>::start);
  std::vector<Extent<M>> after;
  for (const Extent<M>& e : parts) {
    if (!after.empty() && e.continues(after.back())) {
      after.back().end = e.end;
    } else {
      after.push_back(e);
    }
  }
  return after;
}

}  // namespace lockswap::address_space
