// Where readers publish themselves, and how writers find them.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

// BRAVO's slots, for locks that lie in a Frame (locks/common/rw_layout.h). Static functions over
// the frame. `closed` says whether other threads may release this reader's hold as theirs.
template <class Slots, class Frame>
concept ReaderSlots = requires(const Frame& frame, std::uint32_t token, const Deadline* deadline,
                               bool (&closed)(), void (&before_wait)()) {
  // Called at start-up. Returns false if the machine cannot do it.
  { Slots::prepare() } -> std::same_as<bool>;
  // Publishes the reader. Returns a token, at most 2^20, or 0 if its place is taken.
  { Slots::fill(frame) } -> std::same_as<std::uint32_t>;
  // Called if fill has returned 0: publishes the reader in another place, if there is one.
  { Slots::fill_elsewhere(frame) } -> std::same_as<std::uint32_t>;
  // The order in which the reader then loads the bias again. With `fill` that is the reader's half
  // of a Dekker pair, whose other half is a seq_cst change of the bias, and then heavy_fence.
  requires std::same_as<decltype(Slots::kLook), const Order>;
  // The reader's release, which any thread may call. release: publishes the critical section.
  // Returns false if another thread has taken the hold, and then sees what that thread left behind.
  { Slots::vacate(frame, token, closed) } -> std::same_as<bool>;
  // The same without a call or a stack frame. Returns false also if vacate has to do the rest.
  { Slots::fast_vacate(frame, token, closed) } -> std::same_as<bool>;
  // Called by a writer after a seq_cst change of the bias: from now on it finds all readers that
  // published themselves and did not see the change.
  Slots::heavy_fence();
  // Whether heavy_fence costs time.
  requires std::same_as<decltype(Slots::kHasHeavyFence), const bool>;
  // Called after heavy_fence. Waits until nobody is published, and calls before_wait before each
  // wait. acquire: synchronises with those readers' releases. Returns false if the deadline has
  // passed, where nullptr means no deadline.
  { Slots::wait(frame, deadline, before_wait) } -> std::same_as<bool>;
  // Returns whether a reader is published; without heavy_fence only a hint.
  { Slots::is_any(frame) } -> std::same_as<bool>;
  // Called once closed() is true. Releases a hold of any thread. Returns false if there is none.
  { Slots::vacate_any(frame) } -> std::same_as<bool>;
  // Empties all slots of this lock, whose readers no longer exist.
  Slots::drop(frame);
  // The paper's N: after a revocation the bias is inhibited for N times as long as that took.
  { Slots::guard(frame) } -> std::same_as<std::uint32_t>;
};

// How a reader fills and vacates a section of its row (rows.h), and so how other threads see it. A
// domain is the address of what is read, which is a lock.
template <class Access>
concept ReaderAccess = requires(std::uint32_t place, std::uint64_t domain, std::uint64_t word,
                                const Deadline* deadline, bool (&closed)(), void (&before_wait)()) {
  // Called at start-up. Returns false if the machine cannot do it.
  { Access::prepare() } -> std::same_as<bool>;
  // Publishes the reader in a section of the calling thread's row. Fails if that is not empty.
  { Access::fill(place, word) } -> std::same_as<bool>;
  // The order in which the reader then loads the domain, for its half of a Dekker pair.
  requires std::same_as<decltype(Access::kLook), const Order>;
  // The reader's release, which any thread may call. release: publishes the critical section.
  // closed() says that others may take the hold. Returns false if another thread has done so, and
  // then sees what that thread left behind.
  { Access::vacate(place, domain, closed) } -> std::same_as<bool>;
  // The same without a call or a stack frame. Returns false also if vacate has to do the rest.
  { Access::fast_vacate(place, domain, closed) } -> std::same_as<bool>;
  // Called by a writer after a seq_cst change of the domain: from now on it finds all readers that
  // filled a section and did not see the change.
  Access::heavy_fence();
  // Called after heavy_fence. Waits until those have left, and calls before_wait before each wait.
  // acquire: pairs with their releases. Returns false if the deadline (nullptr for none) passed.
  { Access::wait(domain, deadline, before_wait) } -> std::same_as<bool>;
  // Empties one section, of any thread, that names a closed domain. Needs no heavy_fence. Returns
  // false if there is none.
  { Access::vacate_any(domain) } -> std::same_as<bool>;
};

// The head of a block for the readers of all nodes (all_readers.h) has a member `awaited`, and each
// part an indicator `readers`.
template <class Blocks, class Head>
concept HasReaderIndicators = requires(Head& head, std::uint32_t i) {
  head.awaited.target;
  head.awaited.reached;
  // May be called by any thread. Returns how many arrivals (or departures) there were.
  Blocks::part(head, i).readers.arrivals();
  Blocks::part(head, i).readers.departures();
  { Blocks::parts() } -> std::same_as<std::uint32_t>;
};

}  // namespace lockswap
