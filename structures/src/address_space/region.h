// Regions of an address space, and how an operation changes them. Addresses are page numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "platform/atomic.h"

namespace lockswap::address_space {

enum Protection : std::uint32_t { kNone = 0, kRead = 1, kWrite = 2 };

template <class M>
class File;

// A region's data without synchronisation. Page p maps page p - base of the file.
template <class M>
struct Extent {
  std::uint64_t start = 0, end = 0;
  std::uint32_t protection = kNone;
  bool shared = false;
  File<M>* file = nullptr;  // nullptr if anonymous
  std::uint64_t base = 0;   // 0 without a file
  bool stack = false;       // grows down to accesses below it

  bool operator==(const Extent&) const = default;
  bool continues(const Extent& before) const {
    return before.end == start && before.protection == protection && is_part_of(before);
  }
  bool is_part_of(const Extent& o) const {
    return shared == o.shared && file == o.file && base == o.base && stack == o.stack;
  }
};

// Plain bounds are possible on a machine for designs that never write them in place.
template <class M>
struct BoundOf {
  using type = typename M::template atomic<std::uint64_t>;
};
template <class M>
requires requires { typename M::Bound; }
struct BoundOf<M> {
  using type = typename M::Bound;
};

// In its own cache lines, because its neighbours come and go while faults read it.
template <class M>
struct alignas(64) Region {
  using Word = typename M::template atomic<std::uint64_t>;
  using Bound = typename BoundOf<M>::type;
  // Designs whose readers hold a lock may write these in place, but only under a lock on each page
  // that is added or removed. relaxed: a reader holds a lock on the page that it asks for, so it
  // sees every move of a bound across that page, and other moves leave the page on its side. If
  // readers hold no lock, these are written before the region is published.
  Bound start, end, protection;
  bool shared, stack;
  File<M>* file;
  std::uint64_t base;
  // Nonzero if the region is not part of the space any more (Bonsai's mark for deleted regions).
  // relaxed: in the RCU designs, an operation takes the locks under which the mark is read after it
  // has set it. In per-vma the space's number is released after it.
  Word gone;
  Word holders;  // per-vma: kWriter, or the number of faults
  Word count;    // per-vma: the space's number when last write-locked
  // Nonzero if the region is registered with the reverse maps. relaxed: it publishes nothing. It is
  // written under a lock that keeps the region, or before a region that takes its place is
  // published.
  Word prepared;

  explicit Region(const Extent<M>& e)
      : shared(e.shared), stack(e.stack), file(e.file), base(e.base) {
    take({}, e);
  }
  // A bound that does not change is not written, because the other one may be another thread's.
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

// The regions that an operation affects, with their neighbours, and what they become: `before`
// without the range, with another protection there, or with a new extent there. Adjacent regions
// that match are merged.
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
