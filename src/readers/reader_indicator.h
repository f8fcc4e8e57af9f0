// The reader indicator of one node: how many readers arrived, and how many departed.
// all_readers.h makes one of all nodes.
//
// Paper: Calciu and others, "NUMA-aware reader-writer locks" (PPoPP 2013), section 3.4.
// Idea: arrivals and departures are two words, so neither is an update that can fail.
// State: ingress and egress count by kReader, modulo 2^31. Bit 0 of egress, kCalled: a writer
//   waits, and departing readers learn of it.
// Space: both words are on one line, which is the node's alone. On two, each read moves two lines
//   between the node's processors: with two readers at once that took 1.3 times as long.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(128) ReaderIndicator {
  // seq_cst: the reader's half of a Dekker pair: arrive, then look for a writer. The writer's half
  // is to make itself seen, then to look at arrivals().
  void arrive() noexcept { ingress_.fetch_add(kReader, seq_cst); }
  // Returns true if a writer waits. As a release it hands on the reader's critical section; pairs
  // with departures(). seq_cst: see call().
  bool depart() noexcept { return (egress_.fetch_add(kReader, seq_cst) & kCalled) != 0; }

  std::uint32_t arrivals() const noexcept { return ingress_.load(seq_cst); }  // the pair of arrive
  // As an acquire it pairs with depart, so that the arrivals of the readers counted here are seen
  // by a later look at arrivals(). seq_cst: see call().
  std::uint32_t departures() const noexcept { return egress_.load(seq_cst) & kCount; }

  // From now on a departing reader learns that a writer waits. seq_cst, as depart() and
  // departures() are: the writer's later look sees the departures that come before this update in
  // the single order; of those that come after it, the last one sees all.
  void call() noexcept { egress_.fetch_or(kCalled, seq_cst); }
  void call_off() noexcept { egress_.fetch_and(kCount, relaxed); }  // relaxed: a hint from here on

  // For tests: what has been counted, modulo 2^31. relaxed: nothing is decided by it.
  std::uint32_t arrivals_counted() const noexcept { return ingress_.load(relaxed) / kReader; }
  std::uint32_t departures_counted() const noexcept { return egress_.load(relaxed) / kReader; }

  // --- when no other thread uses the lock: in a forked child (rw_adoption.h), and at its end.
  // relaxed: the fork, or the program, has handed on what threads did.
  bool is_called() const noexcept { return (egress_.load(relaxed) & kCalled) != 0; }
  // Ends the holds of all readers.
  void drop() noexcept { egress_.store(ingress_.load(relaxed), relaxed); }

  static constexpr std::uint32_t kReader = 2;

 private:
  static constexpr std::uint32_t kCalled = 1;
  static constexpr std::uint32_t kCount = ~(kReader - 1);

  typename P::template atomic<std::uint32_t> ingress_{};
  typename P::template atomic<std::uint32_t> egress_{};
};

}  // namespace lockswap
