// Epochs: which threads may still look at a node that was taken out of a list.
//
// Paper: A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address Spaces and Beyond",
//   EuroSys 2020, section 4.4, after K. Fraser's epoch-based reclamation.
// Idea: a thread shows when it began to walk through a list, and that it has ended. Nodes that were
//   taken out are used again when each thread that was walking then has ended.
// State: a clock for the process; for each thread the time at which it began (0: it does not walk).
// Invariants: the thread that closes a period moves the clock. A thread that shows a later time
//   than the period's began after the period was closed, and so after all of its nodes were taken
//   out.
// Order: a Dekker pair; all four steps are seq_cst. Links are the lists' business.
//     a walk      1. stores its time         2. loads links
//     reclaiming  1. changes a link          2. loads the times
//   A thread that is seen with a later time has read the clock as it was moved, after the links
//   were changed.
// Deviations: the paper counts a thread's beginnings and ends, and its barrier waits until each odd
//   counter changes. Here nobody waits for other threads: is_over() says what is so now, and goes
//   on later where it stopped. So a thread has to show whether it is still in the same walk as at
//   the first look; a time shows that without a copy of every thread's counter.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// A thread's place, or a place for a later thread: never unmapped, so that others may always look.
template <Platform P>
struct alignas(64) Walker {
  typename P::template atomic<std::uint64_t> began{};  // 0: it does not walk
  // The process of its thread (P::process()); 0: it has no thread.
  typename P::template atomic<std::uint64_t> process{};
  Walker* next = nullptr;  // set before it is known to others
};

// The nodes that were taken out of lists until some time.
template <Platform P>
struct Period {
  std::uint64_t end = 0;
  Walker<P>* unseen = nullptr;  // from this one on threads may be walking since before the end
};

// One for the process.
template <Platform P>
class Epochs {
  static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));

 public:
  // Never 0.
  void begin(Walker<P>& me) noexcept {
    // seq_cst: the pair with is_over(). acquire: what was taken out before close() moved the clock.
    // The time may be old by then: then more is kept than needs to be.
    me.began.store(clock_.load(acquire) + 1, seq_cst);
  }
  void end(Walker<P>& me) noexcept {
    // release: the reads of the walk; pairs with is_over().
    me.began.store(0, release);
  }

  // The nodes that were taken out before belong to this period.
  Period<P> close() noexcept {
    Period<P> p;
    p.end = clock_.fetch_add(1, release) + 1;  // pairs with begin()
    // A thread that is added later begins later. seq_cst: it stands for a look at that thread's
    // time.
    p.unseen = reinterpret_cast<Walker<P>*>(first_.load(seq_cst));
    return p;
  }

  // Returns whether no thread but `me` walks since before the period's end. Cost: a look at each
  // thread, once over all calls.
  bool is_over(Period<P>& p, const Walker<P>& me) noexcept {
    for (; p.unseen != nullptr; p.unseen = p.unseen->next) {
      if (p.unseen == &me) continue;
      // seq_cst: the pair with begin(). As an acquire it pairs with end() and later begin()s.
      const std::uint64_t began = p.unseen->began.load(seq_cst);
      if (began != 0 && began <= p.end) return false;
    }
    return true;
  }

  // --- all threads
  Walker<P>* first() const noexcept {
    return reinterpret_cast<Walker<P>*>(first_.load(acquire));  // pairs with add()
  }
  void add(Walker<P>& w) noexcept {
    std::uint64_t head = first_.load(relaxed);
    do {
      w.next = reinterpret_cast<Walker<P>*>(head);
      // seq_cst: releases the walker, and comes before its thread's first begin() for close().
    } while (!first_.compare_exchange(head, reinterpret_cast<std::uintptr_t>(&w), seq_cst));
  }

 private:
  typename P::template atomic<std::uint64_t> clock_{};
  typename P::template atomic<std::uint64_t> first_{};  // of the list of all walkers
};

}  // namespace lockswap
