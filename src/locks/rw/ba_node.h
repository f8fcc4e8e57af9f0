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
  // Belongs to the arena while the node is free. A writer's leads to the next writer, and that of a
  // reader which has left the list leads to the node before its own.
  typename P::template atomic<std::uint32_t> link;
  // BaGates says what the values mean.
  typename P::template atomic<std::uint64_t> gate;
  // For the writer whose turn it is: how many readers had arrived when it set PRES, and kRecorded.
  // Forked children read it.
  typename P::template atomic<std::uint64_t> arrivals_at_phase;

  static constexpr std::uint64_t kRecorded = 1;
};

// What a gate's word says, and how a thread waits there.
//   shut       kShut and flags
//   open       for a reader in the list, the phase that is over, shifted by kEndedShift, or 0; for
//              a writer, 0
//   abandoned  kAbandoned and, for a writer, the address of its queue
template <Platform P, WaitPolicy<P> W>
struct BaGates {
  using Node = BaNode<P>;

  static constexpr std::uint64_t kShut = 1;
  static constexpr std::uint64_t kSleeper = 2;    // while shut: its thread sleeps
  static constexpr std::uint64_t kAbandoned = 4;  // its thread has left
  static constexpr std::uint64_t kMayLeave = 8;   // while shut: a timed writer's
  static constexpr std::uint64_t kClaimed = 16;   // while shut: it will be opened; stay
  static constexpr int kEndedShift = 32;
  static constexpr std::uint32_t kChannel = 1;

  static bool is_shut(std::uint64_t gate) noexcept { return (gate & kShut) != 0; }

  // Returns false if the deadline has passed first.
  static bool wait_at(Node& node, const Deadline* deadline) noexcept {
    // acquire: pairs with open.
    return W::until(node.gate, acquire, kSleeper, kChannel, deadline,
                    [](std::uint64_t v) { return !is_shut(v); });
  }
  // Returns the gate's previous value. After the exchange the node may be another thread's, for
  // which a late wake is merely a stray one.
  static std::uint64_t open(Node& node, std::uint64_t to) noexcept {
    // release: what the opener knows of earlier critical sections; pairs with wait_at. acquire: if
    // its thread has left, where the list goes on; pairs with abandon in ba_readers.h.
    const std::uint64_t was = node.gate.exchange(to, acq_rel);
    if constexpr (W::kParks) {
      if ((was & (kShut | kSleeper)) == (kShut | kSleeper)) W::wake(&node.gate, kChannel);
    }
    return was;
  }
};

}  // namespace lockswap
