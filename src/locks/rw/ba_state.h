// The state of a BA lock (ba.h): its words and bits, what can be seen of it at a glance, and what
// is put right in it after a fork. ba_readers.h and ba_writers.h are the two queues.
//
// State (24 bytes, zero = free; node = 32-bit handle):
//   word   64 bits: arrivals of readers (high 32) | the phase's number (28) | kSleepers, kLeaving,
//          kQueued, PRES
//   rout   departures of readers (31 bits), kDrain
//   rtail  the newest reader that waits in the list; 0: nobody does
//   wtail  the newest writer
//   whead  the node of the writer that has its turn
// Invariants: PRES is set only by the writer at the head of the queue, and whead is its node as
//   long as PRES is set. The phase's number goes on by one whenever PRES is taken away. While PRES
//   is set, no reader that arrived later holds the lock. rout never passes the arrivals. In drain
//   mode rout counts up to 0 instead.
#pragma once

#include <cstdint>

#include "locks/rw/ba_node.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class BaState : protected BaGates<P, W> {
 public:
  // --- glimpses, which may be old at once
  // Never false while a hold stays: rout is read first (acquire: pairs with read_unlock, so that
  // the arrivals of the readers that left are seen), and the arrivals that are read later are more
  // by that hold.
  bool has_readers() const noexcept {
    const std::uint32_t left = rout_.load(acquire);
    return left != target_of(word_.load(relaxed));
  }
  bool has_writer() const noexcept {
    return (word_.load(acquire) & kPresent) != 0;  // acquire: pairs with end_phase
  }
  bool idle() const noexcept {
    const std::uint64_t v = word_.load(relaxed);  // for tests, when all threads have ended
    return (v & kPresent) == 0 && all_left(v) && wtail_.load(relaxed) == 0 &&
           rtail_.load(relaxed) == 0;
  }
  bool too_many_readers() const noexcept {
    // acquire: pairs with read_unlock, so not more are seen to have left than to have arrived.
    const std::uint32_t left = rout_.load(acquire);
    if ((left & kDrain) != 0) return false;  // rout counts something else for a moment
    return (target_of(word_.load(relaxed)) - left) >> 31 != 0;
  }

  // --- in a forked child (LockCore). relaxed, all: the fork handed on what threads did, and the
  // contract hands on what happens here.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint64_t v = word_.load(relaxed);
    const Handle tail = wtail_.load(relaxed);
    if (rtail_.load(relaxed) != 0) return false;
    if ((v & kPresent) == 0 || !written) return (v & kPresent) == 0 && !written && tail == 0;
    return Nodes::is_handle(tail) && tail == whead_.load(relaxed) &&
           Nodes::at(tail).link.load(relaxed) == 0 && (v & (kQueued | kLeaving | kSleepers)) == 0 &&
           all_left(v);
  }
  // Readers that arrived after what the node at whead has recorded waited for a writer that does
  // not exist, and so did the writers in the queue: both are dropped. A reader that may have
  // arrived before is a holder. The nodes of those that waited are lost.
  void repair_after_fork(bool written) noexcept {
    const std::uint64_t v = word_.load(relaxed);
    Handle head = whead_.load(relaxed);
    // What looks like an ancestor's may be another process's, with a handle of no node.
    const bool is_node = Nodes::is_handle(head);
    if (written && !is_node) whead_.store(head = Nodes::take(), relaxed);
    const std::uint64_t arrivals_at_phase =
        (v & kPresent) == 0 || !is_node ? 0 : Nodes::at(head).arrivals_at_phase.load(relaxed);
    const std::uint64_t readers =
        (arrivals_at_phase & kRecorded) == 0 ? v & kArrived : arrivals_at_phase & kArrived;
    if ((rout_.load(relaxed) & kDrain) != 0) rout_.fetch_add(target_of(readers) - kDrain, relaxed);
    if (written) Nodes::at(head).link.store(0, relaxed);
    rtail_.store(0, relaxed);
    word_.store(readers | (v & (written ? kPhase : kPhaseNumber)), relaxed);
    wtail_.store(written ? head : 0, relaxed);
  }

 protected:
  using typename BaGates<P, W>::Handle, typename BaGates<P, W>::Node, typename BaGates<P, W>::Nodes;
  using Atom = typename P::template atomic<std::uint32_t>;

  static constexpr std::uint64_t kPresent = 1;  // a writer has its turn
  static constexpr std::uint64_t kQueued = 2;   // while PRES: readers wait in the list
  static constexpr std::uint64_t kLeaving = 4;  // while PRES: the writer empties the list, and goes
  static constexpr std::uint64_t kSleepers = 8;  // while PRES: somebody sleeps on the word
  static constexpr std::uint64_t kOnePhase = 16;
  static constexpr std::uint64_t kReader = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kArrived = ~(kReader - 1);
  static constexpr std::uint64_t kPhaseNumber = (kReader - 1) & ~(kOnePhase - 1);
  static constexpr std::uint64_t kPhase = kPhaseNumber | kPresent;

  static constexpr std::uint32_t kDrain = 1;  // in rout: it counts up to 0
  static constexpr std::uint32_t kLeft = 2;   // in rout: a reader has left

  static constexpr std::uint64_t kRecorded = 1;  // beside arrivals in a node's arrivals_at_phase

  static bool is_free(std::uint64_t v) noexcept { return (v & kPresent) == 0; }
  // What rout will be when all readers that have arrived have left.
  static std::uint32_t target_of(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> 32) * kLeft;
  }
  // For P::check, by a reader that is in: fewer have left than have arrived. In drain mode fewer
  // than the writer waits for.
  bool counts_me() const noexcept {
    const std::uint32_t left = rout_.load(relaxed);
    const std::uint32_t all = (left & kDrain) != 0 ? kDrain : target_of(word_.load(relaxed));
    return static_cast<std::int32_t>(all - left) >= static_cast<std::int32_t>(kLeft);
  }
  // That writer is at the head of the queue, and is present or not.
  bool is_at_head(Handle me, bool present) const noexcept {
    return whead_.load(relaxed) == me && wtail_.load(relaxed) != 0 &&
           is_free(word_.load(relaxed)) != present;
  }
  bool all_left(std::uint64_t v) const noexcept {
    return rout_.load(acquire) == target_of(v);  // acquire: pairs with read_unlock
  }

  typename P::template atomic<std::uint64_t> word_{};
  Atom rout_{};
  Atom rtail_{};
  Atom wtail_{};
  Atom whead_{};
};

}  // namespace lockswap
