// Where readers publish themselves, and how writers find them.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

// BRAVO's slots, of locks that lie in a Frame (locks/common/rw_layout.h). Static functions over the
// frame. `closed` says whether other threads may take this reader's hold for theirs.
template <class Slots, class Frame>
concept ReaderSlots = requires(const Frame& frame, std::uint32_t token, const Deadline* deadline,
                               bool (&closed)(), void (&before_wait)()) {
  // Called at start-up. Returns false if the machine cannot do it.
  { Slots::prepare() } -> std::same_as<bool>;
  // Publishes the reader. Returns a token, at most 2^20, or 0 if its place is taken.
  { Slots::fill(frame) } -> std::same_as<std::uint32_t>;
  // Called after that: the same in another place, if there is one.
  { Slots::fill_elsewhere(frame) } -> std::same_as<std::uint32_t>;
  // The order in which the reader then looks at the bias again. With `fill` it is the reader's half
  // of a Dekker pair whose other half is a seq_cst change of the bias, and then heavy_fence.
  requires std::same_as<decltype(Slots::kLook), const Order>;
  // The reader's release, which any thread may call. release: the critical section. Returns false
  // if another thread has taken the hold; what that thread left behind is seen.
  { Slots::vacate(frame, token, closed) } -> std::same_as<bool>;
  // The same without a call or a stack frame. False also if there is more to do: go on with vacate.
  { Slots::fast_vacate(frame, token, closed) } -> std::same_as<bool>;
  // For a writer, after a seq_cst change of the bias: from now on it finds all readers that
  // published themselves and did not see the change.
  Slots::heavy_fence();
  // Whether that costs time.
  requires std::same_as<decltype(Slots::kHasHeavyFence), const bool>;
  // After heavy_fence: waits until nobody is published. acquire: the critical sections of those
  // readers. Calls before_wait before each wait. Returns false if the deadline has passed, where
  // nullptr is no deadline.
  { Slots::wait(frame, deadline, before_wait) } -> std::same_as<bool>;
  // Returns whether a reader is published; without heavy_fence only a hint.
  { Slots::is_any(frame) } -> std::same_as<bool>;
  // Called once closed() is true. Releases a hold of any thread. Returns false if there is none.
  { Slots::vacate_any(frame) } -> std::same_as<bool>;
  // Empties all slots of this lock, whose readers do not exist any more.
  Slots::drop(frame);
  // The paper's N: after a revocation the bias is inhibited for N times as long as that took.
  { Slots::guard(frame) } -> std::same_as<std::uint32_t>;
};

// How a reader enters and leaves a section of its row (rows.h), and so how others see it. A domain
// is what is read: a lock's address.
template <class Access>
concept ReaderAccess = requires(std::uint32_t place, std::uint64_t domain, std::uint64_t word,
                                const Deadline* deadline, bool (&closed)(), void (&before_wait)()) {
  // Called at start-up. Returns false if the machine cannot do it.
  { Access::prepare() } -> std::same_as<bool>;
  // Publishes the reader in a section of the calling thread's row. Fails if that is not empty.
  { Access::fill(place, word) } -> std::same_as<bool>;
  // The order in which the reader then looks at the domain: its half of a Dekker pair.
  requires std::same_as<decltype(Access::kLook), const Order>;
  // The reader's release, which any thread may call. release: the critical section. closed() says
  // that others may take the hold. Returns false if one has done so; what that thread left behind
  // is seen.
  { Access::vacate(place, domain, closed) } -> std::same_as<bool>;
  // The same without a call or a stack frame. False also if there is more to do: go on with vacate.
  { Access::fast_vacate(place, domain, closed) } -> std::same_as<bool>;
  // For a writer, after a seq_cst change of the domain: from now on it finds all readers that
  // filled a section and did not see the change.
  Access::heavy_fence();
  // After heavy_fence: waits until those have left. acquire: their critical sections. Calls
  // before_wait before each wait. Returns false if the deadline (nullptr for none) has passed.
  { Access::wait(domain, deadline, before_wait) } -> std::same_as<bool>;
  // Empties a section of a closed domain, of any thread, without heavy_fence. Returns
  // false if there is none.
  { Access::vacate_any(domain) } -> std::same_as<bool>;
};

// The head of a block for the readers of all nodes (all_readers.h) has a member `awaited`, and each
// part an indicator `readers`.
template <class Blocks, class Head>
concept HasReaderIndicators = requires(Head& head, std::uint32_t i) {
  head.awaited.target;
  head.awaited.reached;
  // May be called by any thread. Return how many arrivals and departures there were.
  Blocks::part(head, i).readers.arrivals();
  Blocks::part(head, i).readers.departures();
  { Blocks::parts() } -> std::same_as<std::uint32_t>;
};

}  // namespace lockswap
