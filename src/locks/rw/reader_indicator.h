// How many readers have come and how many have gone, on lines of their own: the reader indicator of
// one node.
//
// Paper: Calciu and others, "NUMA-aware reader-writer locks" (PPoPP 2013), section 3.4.
// Idea: coming and going write to different words, and a writer that looks on takes a line from one
//   side at a time. Nobody is in if as many have gone as have come.
// State: ingress and egress count by kReader; bit 0 of egress: a writer sleeps on it.
// Invariants: egress never passes ingress: a reader goes by an update that finds one more arrival
//   than departures. So two releases never end one hold, whichever threads they are by.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

template <class P, class W>
struct alignas(128) ReaderIndicator {
  // Counts a reader in. seq_cst: its caller goes on to look for a writer, the other half of whose
  // Dekker pair is is_empty.
  void arrive() noexcept { ingress_.fetch_add(kReader, seq_cst); }

  // Counts one out, whichever. False: nobody is in.
  bool depart() noexcept {
    for (;;) {
      // acquire: the arrivals of those that have gone are seen, so that the caller's own is one
      // more. If it is not, who took it has left another one for it, which must be seen, too. Pairs
      // with the compare-exchange.
      std::uint32_t left = egress_.load(acquire);
      const std::uint32_t come = ingress_.load(relaxed);  // as said
      if ((left & kCount) == come) return false;
      const bool is_last = (left & kCount) + kReader == come;
      const std::uint32_t next = (is_last ? left & kCount : left) + kReader;
      // release: the reader's critical section; pairs with is_empty.
      if (!egress_.compare_exchange(left, next, release)) continue;
      if constexpr (W::kParks) {
        // Somebody who has come since, and is in nobody's count of the last, will be the last.
        if (is_last && (left & kParked) != 0) W::wake(&egress_, kChannel);
      }
      return true;
    }
  }

  // Never true while a reader stays. Departures first: of the arrivals, which are looked at later,
  // there are not fewer.
  bool is_empty() const noexcept {
    const std::uint32_t left = egress_.load(acquire) & kCount;  // pairs with depart
    return left == ingress_.load(seq_cst);                      // see arrive
  }

  // For a writer that has new readers turn back. False: the deadline has passed.
  bool wait_until_empty(const Deadline* deadline) noexcept {
    while (!is_empty()) {
      if (!wait_for_some(deadline)) return false;
    }
    return true;
  }
  // Until as many have gone as have come by now, whichever; some of these may only look.
  bool wait_for_some(const Deadline* deadline) noexcept {
    const std::uint32_t come = ingress_.load(relaxed);  // relaxed, both: is_empty decides
    const auto gone = [come](std::uint32_t left) {
      return static_cast<std::int32_t>((left & kCount) - come) >= 0;
    };
    return W::until(egress_, relaxed, kParked, kChannel, deadline, gone);
  }

  // Half of the counters' range is in use.
  bool too_many() const noexcept {
    const std::uint32_t left = egress_.load(acquire) & kCount;  // as in is_empty
    return (ingress_.load(relaxed) - left) >> 31 != 0;          // as in depart
  }

  // For tests: what has been counted, modulo 2^31. relaxed: nothing is decided by it.
  std::uint32_t arrivals() const noexcept { return ingress_.load(relaxed) / kReader; }
  std::uint32_t departures() const noexcept { return egress_.load(relaxed) / kReader; }

  // --- in a forked child; see recursive.h. relaxed: the fork handed on what threads did.
  // Under a writer's hold, who has come was about to turn back. Otherwise it may hold.
  bool is_tidy(bool written) const noexcept {
    return (egress_.load(relaxed) & kParked) == 0 && (!written || is_empty());
  }
  void clear_up(bool written) noexcept {
    if (written) {
      egress_.store(ingress_.load(relaxed), relaxed);
    } else {
      egress_.fetch_and(kCount, relaxed);
    }
  }

 private:
  static constexpr std::uint32_t kParked = 1;
  static constexpr std::uint32_t kReader = 2;
  static constexpr std::uint32_t kCount = ~(kReader - 1);
  static constexpr std::uint32_t kChannel = 1;

  typename P::template atomic<std::uint32_t> ingress_{};
  alignas(64) typename P::template atomic<std::uint32_t> egress_{};
};

}  // namespace lockswap
