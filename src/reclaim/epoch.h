// Epochs tell which threads may still access a node that was removed from a list.
//
// Paper: A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address Spaces and Beyond",
//   EuroSys 2020, section 4.4, after K. Fraser's epoch-based reclamation.
// Idea: a thread publishes when it began to walk a list, and when it has finished. Removed nodes
//   are used again once each thread that was walking at their removal has finished.
// State: a clock for the process; for each thread the time at which it began (0: it does not walk).
// Invariants: the thread that closes a period moves the clock. A thread whose time is later than
//   the period's end began after the period was closed, and so after all of its nodes were removed.
// Order: a Dekker pair; all four steps are seq_cst. The lists take care of their links' orders.
//     a walk      1. stores its time         2. loads links
//     reclaiming  1. changes a link          2. loads the times
//   A thread with a later time has loaded the clock after it was moved, and so after the links were
//   changed.
// Deviations: the paper counts each thread's walks (at begin and end), and its barrier waits until
//   each odd counter changes. Here nobody waits for other threads: is_over() tells how it is now,
//   and later continues where it stopped. So it must be able to tell whether a thread is still in
//   the same walk as at the last check: times show that without a copy of all threads' counters.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// A thread's record, or one for a later thread. Never unmapped, so that others may always read it.
template <Platform P>
struct alignas(64) Walker {
  typename P::template atomic<std::uint64_t> began{};  // 0 while it does not walk
  // The process of its thread (P::process()), or 0 if it has no thread.
  typename P::template atomic<std::uint64_t> process{};
  Walker* next = nullptr;  // set before the walker is published
};

// A set of nodes: those that were removed from lists before some time.
template <Platform P>
struct Period {
  std::uint64_t end = 0;
  Walker<P>* unseen = nullptr;  // the first that may have been walking since before the end
};

// A process has one.
template <Platform P>
class Epochs {
  static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));

 public:
  // Begins a walk.
  void begin(Walker<P>& me) noexcept {
    // seq_cst: pairs with is_over(). acquire: removals before close() moved the clock are visible.
    // The time may be outdated when it is stored; then more is kept than necessary. It is never 0.
    me.began.store(clock_.load(acquire) + 1, seq_cst);
  }
  void end(Walker<P>& me) noexcept {
    // release: orders the reads of the walk; pairs with is_over().
    me.began.store(0, release);
  }

  // Returns a new period, of all nodes that were removed before.
  Period<P> close() noexcept {
    Period<P> p;
    p.end = clock_.fetch_add(1, release) + 1;  // pairs with begin()
    // A thread that is added later begins later. seq_cst: this load takes the place of a load of
    // that thread's time.
    p.unseen = reinterpret_cast<Walker<P>*>(first_.load(seq_cst));
    return p;
  }

  // Returns whether no thread but `me` has been walking since before the period's end. All calls
  // for a period together check each thread once.
  bool is_over(Period<P>& p, const Walker<P>& me) noexcept {
    for (; p.unseen != nullptr; p.unseen = p.unseen->next) {
      if (p.unseen == &me) continue;
      // seq_cst: pairs with begin(). As an acquire it pairs with end() and later begin()s.
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
      // seq_cst: publishes the walker, and for close() precedes its thread's first begin().
    } while (!first_.compare_exchange(head, reinterpret_cast<std::uintptr_t>(&w), seq_cst));
  }

 private:
  typename P::template atomic<std::uint64_t> clock_{};
  typename P::template atomic<std::uint64_t> first_{};  // head of the list of all walkers
};

}  // namespace lockswap
