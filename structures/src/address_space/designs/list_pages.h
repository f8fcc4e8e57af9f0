// list-pages: faults lock their page, and every operation except fork and the growth of a stack
// first tries with its own pages and one more on each side. This goes beyond the range-lock paper,
// which does so only for mprotect, with all of its region, and leaves mmap, munmap and brk to
// future work (sections 5 and 8).
//
// Idea: an operation that neither makes nor ends a region only changes the mapping of its own
//   pages. Within its range, it moves the bounds of regions that have a page in the range or touch
//   it, or it changes the protection of a region that lies in the range. Whatever it must read to
//   know that, it finds through those pages and their neighbours.
// Steps: 1. lock the range and a page on each side. 2. Search, and compute what the regions become.
//   3. If their number stays the same, move the bounds in place. Otherwise give up, and lock
//   everything.
// Invariants: the tree changes only under the full lock, so a search under any lock sees a whole
//   tree. A thread that moves a bound holds the pages on both sides of its old place and of its new
//   place. So if another thread moves a bound meanwhile, or has moved it unseen, it is on the same
//   side of this range before and after. A page table is removed only if all of its pages are
//   locked here, so no fault is in it or on its way there.
// Not needed: a first search under a lock of its own, a sequence number, and retries, except for
//   brk, whose range depends on the end of the heap.
#pragma once

#include <algorithm>

#include "address_space/designs/design.h"

namespace lockswap::address_space {

template <class M>
class ListPages : public Speculative<M> {
  using Speculative<M>::index_;

 public:
  using typename Speculative<M>::Hand;

  template <class Fill>
  auto fault(Hand&, std::uint64_t page, Fill fill) {
    const typename M::Range held(lock_, this->first_filled(page), this->last_filled(page), true);
    return fill(index_.floor(page), true);
  }
  template <class Body>
  void change(Hand& h, Change kind, std::uint64_t start, std::uint64_t end, Body body) {
    const bool takes_all = kind == Change::fork || kind == Change::grow;
    if (!takes_all && is_done_in_place(h.attempts[kind], start, end, body)) return;
    const typename M::Range held(lock_, 0, kPages, false);
    body(Allowed{true, 0, kPages});
  }

 private:
  static constexpr std::uint64_t kPages = PageTable<M>::kPages;

  template <class Body>
  bool is_done_in_place(Attempts::Count& count, std::uint64_t start, std::uint64_t end,
                        Body& body) {
    const std::uint64_t first = start == 0 ? 0 : start - 1;
    const std::uint64_t last = std::min(end + 1, kPages);
    const typename M::Range held(lock_, first, last, false);
    const Tried how = body(Allowed{false, first, last});
    count.speculated += how == Tried::done ? 1 : 0;
    count.structural += how == Tried::structural ? 1 : 0;
    count.restarts += how == Tried::moved ? 1 : 0;
    return how == Tried::done;
  }

  typename M::ListLock lock_;
};

}  // namespace lockswap::address_space
