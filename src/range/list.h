// list-ex, list-rw: range locks as a sorted list of held ranges.
//
// Paper: A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address Spaces and Beyond",
//   EuroSys 2020, sections 4.1 (list-ex, listing 1), 4.2 (list-rw, listings 2 and 3), 4.5.
// Idea: each held range has a node in a list that is sorted by start. Overlapping exclusive ranges
//   need the same place in the list, so one compare-exchange decides. Shared ranges may overlap, so
//   two conflicting threads may need different places. Therefore each checks a second time after it
//   has inserted its node: a reader from its node to the end of its range, a writer from the head
//   to its node. One of the two then gives way. A release sets a flag, and a walk that meets the
//   flag removes the node. A range that is put into an empty list is marked kAlone there, and its
//   release removes it at once.
// State (40 bytes, zero = free): head, a link (node.h); the queue of impatient acquisitions
//   (queue.h).
// Invariants: along the list, starts never decrease. A node that follows an exclusive one begins at
//   or after its end. The link of a released node does not change. Only its owner releases a node.
// Fairness: none in the list; queue.h adds it with `fair`. If a reader and a writer meet in their
//   second check, the writer starts again, or with `writers_first` the reader.
// Space: a node (64 bytes) for each range that is held, or that was held and no walk has met since.
// Order: walk.h.
// Deviations: a waiter ends its walk, keeps only the one node that it waits for (by its pins), and
//   starts again from the head. While its own node is in the list, a thread waits only for a node
//   that may still give way, never for a held range (kHeld). The paper's readers do wait there, so
//   a thread with several ranges would wait for such a reader, which waits for that thread. The
//   slow path also marks a range in an empty list kAlone; otherwise a lock that was contended once
//   would never use its fast path again. The link contains the mode and the release flag.
// Destroy is safe: a release last accesses the head, by its compare-exchange, or its own node,
//   whose memory stays. Only a wake may follow.
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

// list-rw, or list-ex if kReaders is false.
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

  // Makes an exclusive range shared, and lets waiting readers go on. Called by its owner.
  void downgrade(Node* n) noexcept requires kReaders { List::downgrade(n); }
  static bool is_mine(const Node* n) noexcept { return List::is_mine(n); }
  static bool is_shared(const Node* n) noexcept { return List::is_shared(n); }

  // Returns whether a range is held, and removes released nodes. No thread may acquire or release
  // meanwhile.
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
