// list-ex, list-rw: range locks as a sorted list of held ranges.
//
// Paper: A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address Spaces and Beyond",
//   EuroSys 2020, sections 4.1 (list-ex, listing 1), 4.2 (list-rw, listings 2 and 3), 4.5.
// Idea: a range is held by a node in a list that is sorted by starts. Overlapping exclusive ranges
//   want the same place, so one compare-exchange decides. Shared ranges may overlap, and two
//   conflicting threads may want different places: each looks once more after it has put its node
//   in, a reader from its node to its end, a writer from the head to its node; one of the two gives
//   way. A release sets a flag; a walk that meets the flag takes the node out. A range alone in an
//   empty list is put there with kAlone, and its release takes it out at once.
// State (40 bytes, zero = free): head, a link (node.h); the queue of the impatient (queue.h).
// Invariants: along the list starts do not fall. A node that follows an exclusive one begins at or
//   after its end. A released node's link does not change. Only a node's owner releases it.
// Fairness: none in the list. With `fair`, queue.h. Where a reader and a writer meet in their
//   second look, the writer starts again, or, with `writers_first`, the reader.
// Space: a node (64 bytes) a range that is held, or was until a walk met it.
// Order: walk.h.
// Deviations: a waiter leaves its walk, keeping only the one node (its pins), and starts again from
//   the head. A thread waits in the list for a node that may still give way, never for one whose
//   range is held (kHeld): the paper's readers do, and a thread with several ranges would wait for
//   such a reader, which waits for it. A range put into an empty list is kAlone on the slow path,
//   too; otherwise a lock that was contended once would never come back to the fast path. Mode and
//   release live in the link.
// Destroy is safe: a release's last access is the compare-exchange of the head or the update of its
//   own node, whose memory stays; a wake may follow.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "range/in_list.h"
#include "range/queue.h"
#include "range/request.h"
#include "wait/concept.h"

namespace lockswap {

// list-rw, or, without readers, list-ex.
template <Platform P, WaitPolicy<P> W, bool kReaders, RangeSizes kSizes = RangeSizes{}>
class RangeList {
  using List = InList<P, W, kReaders, kSizes>;

 public:
  using Node = typename List::Node;
  using Nodes = typename List::Nodes;
  static constexpr bool kCanShare = kReaders;
  // Whether threads may hold several ranges as long as they acquire them in one order.
  static constexpr bool kHoldsMany = true;
  static constexpr RangeOptions kTakes{.fair = true, .writers_first = kReaders};
  static constexpr LockInfo kInfo =
      kReaders ? LockInfo{.summary = "a sorted list of held ranges, shared and exclusive",
                          .source = "Kogan, Dice, Issa, EuroSys 2020, 4.2",
                          .fairness = "as list-ex; readers before writers, or the other way round"}
               : LockInfo{.summary = "a sorted list of held ranges, all of them exclusive",
                          .source = "Kogan, Dice, Issa, EuroSys 2020, 4.1",
                          .fairness =
                              "the thread that comes at the right moment; one that has "
                              "failed eight times goes first"};

  // --- the fast stage
  [[gnu::always_inline]] bool acquire_alone(std::uint64_t start, std::uint64_t end, bool shared,
                                            Node*& out) noexcept {
    if (!List::acquire_alone(head_, start, end, shared, out)) return false;
    ++List::held().count;
    return true;
  }
  [[gnu::always_inline]] bool release_alone(Node* n) noexcept {
    if (!List::release_alone(head_, n)) return false;
    --List::held().count;
    return true;
  }
  void release_slowly(Node* n) noexcept {
    --List::held().count;
    List::mark_released(n);
  }

  // --- the slow stage
  [[gnu::noinline]] int acquire_slowly(const RangeRequest& r, RangeOptions options,
                                       Node*& out) noexcept {
    const typename Nodes::Lease lease;
    if (lease.get() == nullptr) return ENOMEM;
    typename Queue::Place place(queue_, r, options.fair);
    NothingElse rest;
    Node* n = nullptr;
    int result = List::kAgain;
    for (std::uint32_t number = 0; result == List::kAgain; ++number) {
      result = place.attempt(number);
      if (result != 0) break;
      if (n == nullptr) {
        n = Nodes::take(*lease.get());
        if (n == nullptr) return ENOMEM;
        List::describe(*n, r.start, r.end);
      }
      result = List::attempt(head_, *lease.get(), n, r, options, rest);
    }
    if (result == 0) {
      out = n;
      ++List::held().count;
    } else if (n != nullptr) {
      Nodes::give(*lease.get(), n);
    }
    return result;
  }

  // An exclusive range becomes a shared one; readers that waited for it go on. By its owner.
  void downgrade(Node* n) noexcept requires kReaders { List::downgrade(n); }
  static bool is_mine(const Node* n) noexcept { return List::is_mine(n); }
  static bool is_shared(const Node* n) noexcept { return List::is_shared(n); }

  // Returns whether a range is held, when no thread acquires or releases. Takes released nodes out.
  bool busy() noexcept {
    const typename Nodes::Lease lease;
    const bool some = List::Walk::any_held(head_, lease.get());
    if (lease.get() != nullptr) Nodes::recycle_if_many(*lease.get());
    return some;
  }

 private:
  using Queue = RangeQueue<P, W, kSizes.patience>;
  struct NothingElse {
    static void retreat() noexcept {}
    static bool has_own() noexcept { return false; }
  };

  typename List::Link head_{};
  Queue queue_{};
};

template <Platform P>
inline constexpr RangeSizes kRangeSizes{.pool = P::kRangeNodes, .patience = P::kRangePatience};
template <Platform P, WaitPolicy<P> W>
using ListEx = RangeList<P, W, false, kRangeSizes<P>>;
template <Platform P, WaitPolicy<P> W>
using ListRw = RangeList<P, W, true, kRangeSizes<P>>;

}  // namespace lockswap
