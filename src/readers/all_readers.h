// The readers of all nodes as one: checks whether any reader holds the lock, and waits for them.
//
// Paper: Calciu and others, "NUMA-aware reader-writer locks" (PPoPP 2013), section 3.4; there a
//   writer checks one node after the other.
// Idea: no reader holds the lock if all nodes together count as many departures as arrivals. So it
//   does not matter at which node a reader departs: another thread may release at any node.
// Invariants: a release comes after the arrival whose hold it ends. So while a reader stays, a
//   thread that sums up the departures first, and then the arrivals, finds more arrivals.
// Waiting (the caller makes sure that one writer waits at a time):
//   writer 1. stores the sum of departures that it waits for (target)
//          2. calls the readers of all nodes, by a flag in their indicators
//          3. waits, or sleeps, until `reached` changes; then it checks the sums again
//   reader 1. departs, and finds that flag
//          2. sums up the departures; if they have reached the target, changes `reached`
// Destroying the lock is safe: a reader may be late with its step 2, but blocks are type-stable,
//   and a writer that finds `reached` changed rechecks.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/concept.h"
#include "readers/reader_indicator.h"
#include "wait/concept.h"

namespace lockswap {

// A member of a block's head.
template <Platform P>
struct ReadersAwaited {
  typename P::template atomic<std::uint32_t> target;   // a sum of departures
  typename P::template atomic<std::uint32_t> reached;  // a counter; bit 0: the writer sleeps
};

template <Platform P, WaitPolicy<P> W, class Head, HasReaderIndicators<Head> Blocks>
class AllReaders {
 public:
  static void depart(Head& h, std::uint32_t node) noexcept {
    if (at(h, node).depart()) [[unlikely]]
      notify_writer(h);
  }

  // Returns whether no reader holds the lock. Never true while a reader stays.
  static bool none(Head& h) noexcept {
    const std::uint32_t left = departures(h);
    return left == arrivals(h);
  }
  // Returns whether half of the counters' range is in use.
  static bool too_many(Head& h) noexcept {
    const std::uint32_t left = departures(h);
    return (arrivals(h) - left) >> 31 != 0;
  }

  // Called by a writer that turns new readers away. Returns false if the deadline has passed.
  static bool wait_for_all(Head& h, const Deadline* deadline) noexcept {
    while (!none(h)) {
      if (!wait_for_some(h, deadline)) return false;
    }
    return true;
  }
  // Waits until there are as many departures, by any readers, as there are arrivals now. Some of
  // these readers may only check for a writer and turn back. It may return a little earlier.
  static bool wait_for_some(Head& h, const Deadline* deadline) noexcept {
    // relaxed, both: call() publishes the target. Late changes of `reached` do no harm.
    const std::uint32_t before = h.awaited.reached.load(relaxed);
    h.awaited.target.store(arrivals(h), relaxed);
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      at(h, i).call();
    const auto changed = [before](std::uint32_t now) { return ((now ^ before) & ~kSleepers) != 0; };
    // relaxed: the caller checks the departures again.
    const bool done = is_reached(h) ||
                      W::until(h.awaited.reached, relaxed, kSleepers, kChannel, deadline, changed);
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      at(h, i).call_off();
    return done;
  }

  // --- in a forked child: see rw_adoption.h
  static bool needs_no_repair(Head& h, bool written) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (at(h, i).is_called()) return false;
    }
    return !written || none(h);
  }
  static void repair_after_fork(Head& h, bool written) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      at(h, i).call_off();
    if (written) drop(h);
  }
  // Ends the holds of all readers.
  static void drop(Head& h) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      at(h, i).drop();
  }

 private:
  static constexpr std::uint32_t kSleepers = 1;
  static constexpr std::uint32_t kStep = 2;
  static constexpr std::uint32_t kChannel = 1;

  static auto& at(Head& h, std::uint32_t i) noexcept { return Blocks::part(h, i).readers; }

  static std::uint32_t arrivals(Head& h) noexcept {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      n += at(h, i).arrivals();
    return n;
  }
  static std::uint32_t departures(Head& h) noexcept {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i)
      n += at(h, i).departures();
    return n;
  }
  // relaxed: call() published it.
  static bool is_reached(Head& h) noexcept {
    return static_cast<std::int32_t>(departures(h) - h.awaited.target.load(relaxed)) >= 0;
  }
  [[gnu::noinline]] static void notify_writer(Head& h) noexcept {
    if (!is_reached(h)) return;
    // relaxed: it publishes nothing; the writer checks the departures again.
    const std::uint32_t v = h.awaited.reached.fetch_add(kStep, relaxed);
    if constexpr (W::kParks) {
      if ((v & kSleepers) != 0) W::wake(&h.awaited.reached, kChannel);
    }
  }
};

}  // namespace lockswap
