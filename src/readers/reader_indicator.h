// How many readers have come and how many have gone: the reader indicator of one node.
// all_readers.h makes one of all nodes.
//
// Paper: Calciu and others, "NUMA-aware reader-writer locks" (PPoPP 2013), section 3.4.
// Idea: coming and going write to different words, so neither is an update that can fail.
// State: ingress and egress count by kReader, modulo 2^31; bit 0 of egress: a writer waits, and
//   wants to be told of who goes.
// Space: both words are on one line, which is the node's alone. On two, each read moves two lines
//   between the node's processors: with two readers at once that took 1.3 times as long.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(128) ReaderIndicator {
  // seq_cst: its caller goes on to look for a writer. The other half of the Dekker pair is the look
  // at arrivals().
  void arrive() noexcept { ingress_.fetch_add(kReader, seq_cst); }
  // True: a writer waits. release: the reader's critical section; pairs with departures(). seq_cst:
  // see
  // call().
  bool depart() noexcept { return (egress_.fetch_add(kReader, seq_cst) & kCalled) != 0; }

  std::uint32_t arrivals() const noexcept { return ingress_.load(seq_cst); }  // see arrive
  // acquire: pairs with depart, so that who has gone is among those seen to have come, if that is
  // looked at later. seq_cst: see call().
  std::uint32_t departures() const noexcept { return egress_.load(seq_cst) & kCount; }

  // From now on departures tell their readers that a writer waits. seq_cst, as are departures and
  // looks at them: of those departures that this update does not come before, the last one in the
  // single order sees all; those that it does come after, the writer sees.
  void call() noexcept { egress_.fetch_or(kCalled, seq_cst); }
  void call_off() noexcept { egress_.fetch_and(kCount, relaxed); }  // relaxed: a hint from here on

  // For tests: what has been counted, modulo 2^31. relaxed: nothing is decided by it.
  std::uint32_t arrivals_counted() const noexcept { return ingress_.load(relaxed) / kReader; }
  std::uint32_t departures_counted() const noexcept { return egress_.load(relaxed) / kReader; }

  // --- when nobody else is there: in a forked child (see rw_contract.h), and at the lock's end.
  // relaxed: the fork, or the program, has handed on what threads did.
  bool is_called() const noexcept { return (egress_.load(relaxed) & kCalled) != 0; }
  // Whoever is in is so no more.
  void drop() noexcept { egress_.store(ingress_.load(relaxed), relaxed); }

  static constexpr std::uint32_t kReader = 2;

 private:
  static constexpr std::uint32_t kCalled = 1;
  static constexpr std::uint32_t kCount = ~(kReader - 1);

  typename P::template atomic<std::uint32_t> ingress_{};
  typename P::template atomic<std::uint32_t> egress_{};
};

}  // namespace lockswap
