// The node of a range in a list, and the links that lists are made of.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// A link: the address of the next node, plus flags. The flags in a node's own link describe that
// node, so a thread that changes the link also learns whether the range is still held.
namespace link {
enum Flags : std::uint64_t {
  kNone = 0,
  // The node is no longer a range, and its link does not change again.
  kReleased = 1,
  // A thread may sleep on the node's link until another flag is set. May stay set.
  kSleepers = 2,
  // The range is held for reading.
  kShared = 4,
  // list-rw: the owner has made its second check, so it will not give way. The preferred side need
  // not set it.
  kHeld = 16,
  // Only in a list's head: the node was put into an empty list. Only its owner may access it until
  // another thread has cleared this flag.
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
  // The owner writes these before the node is in a list. They stay constant until the node has been
  // removed and every walk that may have met it has ended.
  typename P::template plain<std::uint64_t> start{};
  typename P::template plain<std::uint64_t> end{};
  typename P::template plain<std::uint64_t> owner{};  // P::self()
  // The number of waiters that have ended their walk but still read `next`.
  typename P::template atomic<std::uint32_t> pins{};
  std::uint32_t turn = 0;  // how many ranges it has been; the owner adds one when it releases it
  RangeNode* below = nullptr;  // for the pools
  RangeNode* batch = nullptr;

  // acquire: pairs with a waiter's decrement, after which it doesn't touch the node.
  bool pinned() const noexcept { return pins.load(acquire) != 0; }
};

}  // namespace lockswap
