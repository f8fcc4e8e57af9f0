// The queue nodes of a BA lock (ba.h), and their gates: each thread waits at a gate of its own.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// The node of a waiting thread, or of the writer that owns the lock. It has a cache line of its
// own, because its thread spins on it.
template <Platform P>
struct alignas(64) BaNode {
  // The arena's while the node is free. A writer's names the next writer; that of a reader which
  // has left the list names the node before its own.
  typename P::template atomic<std::uint32_t> link;
  // See BaGates for the values.
  typename P::template atomic<std::uint64_t> gate;
  // For the writer whose turn it is: how many readers had arrived when it set PRES, and kRecorded.
  // Forked children read it.
  typename P::template atomic<std::uint64_t> arrivals_at_phase;

  static constexpr std::uint64_t kRecorded = 1;
};

// The values of a gate's word, and how a thread waits there.
//   shut       kShut and flags
//   open       for a reader in the list, the phase that is over, shifted by kEndedShift, or 0; for
//              a writer, 0
//   abandoned  kAbandoned and, for a writer, the address of its queue
template <Platform P, WaitPolicy<P> W>
struct BaGates {
  using Node = BaNode<P>;

  static constexpr std::uint64_t kShut = 1;
  static constexpr std::uint64_t kSleeper = 2;    // while shut: its thread is asleep
  static constexpr std::uint64_t kAbandoned = 4;  // its thread has left
  static constexpr std::uint64_t kMayLeave = 8;   // while shut: it is a timed writer's
  static constexpr std::uint64_t kClaimed = 16;   // while shut: it will be opened, so stay
  static constexpr int kEndedShift = 32;
  static constexpr std::uint32_t kChannel = 1;

  static bool is_shut(std::uint64_t gate) noexcept { return (gate & kShut) != 0; }

  // Returns false if the deadline has passed first.
  static bool wait_at(Node& node, const Deadline* deadline) noexcept {
    // acquire: pairs with open.
    return W::until(node.gate, acquire, kSleeper, kChannel, deadline,
                    [](std::uint64_t v) { return !is_shut(v); });
  }
  // Returns the gate's previous value. After the exchange the node may be another thread's, which
  // sees a late wake as a spurious one.
  static std::uint64_t open(Node& node, std::uint64_t to) noexcept {
    // release: publishes the critical sections seen so far; pairs with wait_at. acquire: the link,
    // if the node's thread has left; pairs with abandon in ba_readers.h.
    const std::uint64_t was = node.gate.exchange(to, acq_rel);
    if constexpr (W::kParks) {
      if ((was & (kShut | kSleeper)) == (kShut | kSleeper)) W::wake(&node.gate, kChannel);
    }
    return was;
  }
};

}  // namespace lockswap
