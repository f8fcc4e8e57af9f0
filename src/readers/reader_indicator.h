// The reader indicator of one node, which counts how many readers arrived and how many departed.
// all_readers.h combines those of all nodes.
//
// Paper: Calciu and others, "NUMA-aware reader-writer locks" (PPoPP 2013), section 3.4.
// Idea: arrivals and departures are two words, so each takes a fetch-add, which can't fail.
// State: ingress and egress count in steps of kReader, modulo 2^31. Bit 0 of egress, kCalled, tells
//   departing readers that a writer waits.
// Space: both words are on one line, which only this node uses. On two, each read moves two lines
//   between the node's processors: with two readers at once that took 1.3 times as long.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(128) ReaderIndicator {
  // seq_cst: the reader's half of a Dekker pair, which is to arrive, then to check for a writer.
  // The writer's half is to make itself visible, then to load arrivals().
  void arrive() noexcept { ingress_.fetch_add(kReader, seq_cst); }
  // Returns true if a writer waits. As a release it publishes the reader's critical section; pairs
  // with departures(). seq_cst: see call().
  bool depart() noexcept { return (egress_.fetch_add(kReader, seq_cst) & kCalled) != 0; }

  std::uint32_t arrivals() const noexcept { return ingress_.load(seq_cst); }  // the pair of arrive
  // As an acquire it pairs with depart, so that a later load of arrivals() sees the arrivals of the
  // readers counted here. seq_cst: see call().
  std::uint32_t departures() const noexcept { return egress_.load(seq_cst) & kCount; }

  // From now on departing readers learn that a writer waits. seq_cst, like depart() and
  // departures(): the writer's later load sees the departures that precede this RMW in the single
  // total order, and the last of the departures that follow it sees all of them.
  void call() noexcept { egress_.fetch_or(kCalled, seq_cst); }
  void call_off() noexcept { egress_.fetch_and(kCount, relaxed); }  // relaxed: a hint from here on

  // For tests: the counts, modulo 2^31. relaxed: nothing depends on them.
  std::uint32_t arrivals_counted() const noexcept { return ingress_.load(relaxed) / kReader; }
  std::uint32_t departures_counted() const noexcept { return egress_.load(relaxed) / kReader; }

  // --- while no other thread uses the lock: in a forked child (rw_adoption.h), and when the lock
  // is destroyed. relaxed: fork() or the program makes other threads' stores visible.
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
