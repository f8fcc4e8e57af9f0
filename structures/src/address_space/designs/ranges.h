// What designs with a range lock in place of mmap_sem have in common. Without a refinement every
// thread locks the full range. With kFaultsRefined, faults lock their page (range locks, section
// 5.3), or all pages of a large one. With kProtectRefined, mprotect first tries with only its
// region and a page on each side (section 5.2, listing 4). Whatever changes the tree locks the full
// range.
#pragma once

#include "address_space/designs/design.h"

namespace lockswap::address_space {

template <class M, class Lock, bool kFaultsRefined, bool kProtectRefined>
class Ranges : public Speculative<M> {
  using Speculative<M>::index_;

 public:
  using typename Speculative<M>::Hand;

  template <class Fill>
  auto fault(Hand&, std::uint64_t page, Fill fill) {
    const std::uint64_t first = kFaultsRefined ? this->first_filled(page) : 0;
    const std::uint64_t last = kFaultsRefined ? this->last_filled(page) : kPages;
    const typename M::Range held(lock_, first, last, true);
    return fill(index_.floor(page), true);
  }
  template <class Body>
  void change(Hand& h, Change kind, std::uint64_t start, std::uint64_t end, Body body) {
    if (kProtectRefined && kind == Change::protect && speculate(h, start, end, body)) return;
    const typename M::Range held(lock_, 0, kPages, false);
    body(Allowed{true, 0, kPages});
    sequence_.store(sequence_.load(relaxed) + 1, relaxed);  // relaxed: as in the next function
  }

 private:
  static constexpr std::uint64_t kPages = PageTable<M>::kPages;

  template <class Body>
  bool speculate(Hand& h, std::uint64_t start, std::uint64_t end, Body& body) {
    Attempts::Count& count = h.attempts[Change::protect];
    for (;;) {
      Region<M>* r = nullptr;
      std::uint64_t first = 0;
      std::uint64_t last = 0;
      std::uint64_t before = 0;
      {
        const typename M::Range held(lock_, start, end, true);
        r = index_.floor(start);
        if (r != nullptr) {
          first = r->start.load(relaxed);
          last = r->end.load(relaxed);
        }
        // relaxed: it is written under the full lock, which is ordered with any other range.
        before = sequence_.load(relaxed);
      }
      if (r == nullptr || first > start || last < end) {
        ++count.spread;
        return false;
      }
      const std::uint64_t low = first == 0 ? 0 : first - 1;
      const std::uint64_t high = last < kPages ? last + 1 : last;
      const typename M::Range held(lock_, low, high, false);
      // If the number has changed, the region may have been freed.
      if (sequence_.load(relaxed) != before || r->start.load(relaxed) != first ||
          r->end.load(relaxed) != last) {
        ++count.restarts;
        continue;
      }
      const bool done = body(Allowed{false, low, high}) == Tried::done;
      ++(done ? count.speculated : count.structural);
      return done;
    }
  }

  Lock lock_;
  typename Region<M>::Word sequence_;
};

}  // namespace lockswap::address_space
