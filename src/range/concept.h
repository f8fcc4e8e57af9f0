// What a range lock must provide. A node stands for each held range; callers take nodes and give
// them back. All zero bytes are a free lock.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "platform/concept.h"
#include "range/request.h"
#include "wait/concept.h"

namespace lockswap {

template <class Lock>
concept RangeLockBasics = requires(Lock& lock, const RangeRequest& request, RangeOptions options,
                                   typename Lock::Node*& out, typename Lock::Node* node,
                                   const typename Lock::Node* mine) {
  // Whether ranges can be shared. If not, all requests are exclusive.
  requires std::same_as<decltype(Lock::kCanShare), const bool>;
  // Whether threads may hold several ranges as long as they acquire them in one order.
  requires std::same_as<decltype(Lock::kHoldsMany), const bool>;
  // Which options make a difference.
  requires std::same_as<decltype(Lock::kTakes), const RangeOptions>;
  // Acquires without trying a fast path first, with the results of acquire_range (stages.h). A lock
  // without a fast path has only this.
  { lock.acquire_slowly(request, options, out) } -> std::same_as<int>;
  // The same for a release.
  lock.release_slowly(node);
  // For a held range: whether the calling thread acquired it and, if so, whether it is shared.
  { Lock::is_mine(mine) } -> std::same_as<bool>;
  { Lock::is_shared(mine) } -> std::same_as<bool>;
  // Returns whether a range is held. May remove released nodes. No thread may acquire or release
  // meanwhile.
  { lock.busy() } -> std::same_as<bool>;
};

// A range lock whose ranges can be shared.
template <class Lock, class Node>
concept CanDowngrade = requires(Lock& lock, Node* node) {
  // Makes the caller's exclusive range shared, and lets waiting readers go on.
  lock.downgrade(node);
};
template <class Lock>
concept SharingRangeLock =
    RangeLockBasics<Lock> && Lock::kCanShare && CanDowngrade<Lock, typename Lock::Node>;

// Any range lock. (A disjunction would not say which member is missing.)
namespace probe {
template <class Node>
struct Exclusive {
  void downgrade(Node*);
};
}  // namespace probe
template <class Lock>
concept RangeLock =
    RangeLockBasics<Lock> &&
    CanDowngrade < std::conditional_t<Lock::kCanShare, Lock, probe::Exclusive<typename Lock::Node>>,
typename Lock::Node > ;

// Optional: a fast stage for acquiring and releasing, which makes no call and needs no stack frame.
template <class Lock>
concept FastRangeLock = RangeLock<Lock> &&
    requires(Lock& lock, std::uint64_t at, bool shared, typename Lock::Node*& out,
             typename Lock::Node* node) {
  // Acquires if no other range is held and the thread has a node at hand. Otherwise returns false
  // and has done nothing: call acquire_slowly.
  { lock.acquire_alone(at, at, shared, out) } -> std::same_as<bool>;
  // Returns false if it has done nothing: call release_slowly.
  { lock.release_alone(node) } -> std::same_as<bool>;
};

// Optional: a shared range can become exclusive.
template <class Lock>
concept UpgradableRangeLock = SharingRangeLock<Lock> &&
    requires(Lock& lock, typename Lock::Node* node) {
  // Makes the caller's shared range exclusive and returns 0. Returns EBUSY if another range that
  // overlaps it is held, or has been waiting since before this one was acquired.
  { lock.try_upgrade(node) } -> std::same_as<int>;
};

// Optional: the lock divides the units into segments, and has its own memory.
template <class Lock>
concept SegmentedRangeLock = RangeLock<Lock> && requires(Lock& lock, std::uint64_t segment) {
  // Called on a new lock by one thread. `segment` is the number of units in a segment; 0 for the
  // default.
  lock.begin(segment);
  // Destroys a lock that is not busy.
  lock.end();
};

}  // namespace lockswap
