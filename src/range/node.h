// A range in a list, and the words that lists are made of.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// A link: the address of the next node, and flags. A node's own link carries the node's flags, so
// that who changes what follows a node also learns whether it is still held.
namespace link {
// The node's holder has left: the node is no longer a range, and what follows it does not change.
inline constexpr std::uint64_t kReleased = 1;
// Somebody may sleep on the node's link until one of the other flags is set. Legal to stay set.
inline constexpr std::uint64_t kSleepers = 2;
// The range is held for reading.
inline constexpr std::uint64_t kShared = 4;
// list-rw: its owner has looked again, so it will not give way. Legal to fail to set for the side
// that is preferred.
inline constexpr std::uint64_t kHeld = 16;
// In a list's head alone: the node was put into an empty list, and nobody but its owner may look at
// it before this flag is gone.
inline constexpr std::uint64_t kAlone = 8;
inline constexpr std::uint64_t kFlags = 63;

template <class Node>
std::uint64_t of(const Node* n) noexcept {
  return reinterpret_cast<std::uintptr_t>(n);
}
}  // namespace link

template <Platform P>
struct alignas(64) RangeNode {
  typename P::template atomic<std::uint64_t> next{};  // a link
  // Written by the owner before the node is in a list, then constant until it is out of it and no
  // walk is left that could have seen it.
  typename P::template plain<std::uint64_t> start{};
  typename P::template plain<std::uint64_t> end{};
  typename P::template plain<std::uint64_t> owner{};  // P::self()
  // Waiters that have left their walk and go on looking at `next`.
  typename P::template atomic<std::uint32_t> pins{};
  RangeNode* below = nullptr;  // the pools'
  RangeNode* batch = nullptr;

  // acquire: pairs with the waiter's last decrement, after which it does not look any more.
  bool pinned() const noexcept { return pins.load(acquire) != 0; }
};

}  // namespace lockswap
