// The node of a range in a list, and the links that lists are made of.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// A link: the address of the next node, and flags. A node's own link carries the node's flags, so
// that a thread which changes the link also learns whether the range is still held.
namespace link {
enum Flags : std::uint64_t {
  kNone = 0,
  // The node is no longer a range, and its link does not change any more.
  kReleased = 1,
  // A thread may sleep on the node's link until one of the other flags is set. It may stay set.
  kSleepers = 2,
  // The range is held for reading.
  kShared = 4,
  // list-rw: the owner has looked again, so it will not give way. The side that is preferred need
  // not set it.
  kHeld = 16,
  // In a list's head alone: the node was put into an empty list, and only its owner may look at it
  // before another thread has cleared this flag.
  kAlone = 8,
  kFlags = 63,
};

template <class Node>
std::uint64_t of(const Node* n) noexcept {
  return reinterpret_cast<std::uintptr_t>(n);
}
}  // namespace link

template <Platform P>
struct alignas(64) RangeNode {
  typename P::template atomic<std::uint64_t> next{};  // a link
  // Written by the owner before the node is in a list, then constant until it has been taken out
  // and each walk that may have met it has ended.
  typename P::template plain<std::uint64_t> start{};
  typename P::template plain<std::uint64_t> end{};
  typename P::template plain<std::uint64_t> owner{};  // P::self()
  // The number of waiters that have ended their walk and still look at `next`.
  typename P::template atomic<std::uint32_t> pins{};
  RangeNode* below = nullptr;  // the pools'
  RangeNode* batch = nullptr;

  // acquire: pairs with a waiter's decrement, after which it does not look any more.
  bool pinned() const noexcept { return pins.load(acquire) != 0; }
};

}  // namespace lockswap
