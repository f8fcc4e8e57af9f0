// sharded-rw: range locks as several sorted lists of held ranges, for locks with many held ranges.
//
// Source: ours; the lists are those of list.h. For long lists the paper (section 4.1) suggests a
//   skip list of ranges. That finds the place quickly, but an exclusive range must also meet each
//   shared one that begins before it and reaches it, wherever that is
//   (docs/range-locks.md).
// Idea: the units are divided into segments, which share kShards lists in turn. A range has a node
//   in the list of each segment that it touches. Two ranges that overlap have a unit in common,
//   hence a list, in which one of them finds the other. Other ranges in that list are not in the
//   way, since nodes have the bounds of their ranges. A thread visits the lists in ascending order.
//   If a range is in its way, it removes the nodes that it has already inserted, waits, and starts
//   again.
// State (48 bytes, zero = free): the lists, which are mapped when the first range is acquired, with
//   the length of a segment; the queue (queue.h).
// Invariants: those of list.h, in each list. While a thread waits for a held range, its acquisition
//   has no node in any list, so it is in nobody's way, and the lock is as free from deadlock as
//   list-rw. (The nodes stay while it waits for an acquisition that may give way.) If a thread
//   without its range is in another's way, it has come further than the other. So only held ranges
//   can stop the one that has come furthest.
// Fairness: that of list-rw. A thread that finds a list empty also checks the queue, because
//   otherwise narrow ranges would pass an impatient wide one.
// Space: 8 bytes a list, and a node (64 bytes) for each segment that a range touches, at most
//   kShards.
// Cost: a walk through a list for each of these nodes.
// Order: nothing is ordered between lists. Each range is acquired and released in every one of its
//   lists.
// Destroy is safe as in list.h. Destroying the lock unmaps the lists. But the release of several
//   nodes is not one step: a thread that has seen one of them released may still find another. So a
//   try, or destroy, returns EBUSY until the release has ended. (A count of unfinished releases
//   would be a word that all of them write, in the cache line that the fast path reads.)
#pragma once

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "range/in_list.h"
#include "range/queue.h"
#include "range/request.h"
#include "range/segments.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, std::uint32_t kShards = 1024,
          RangeSizes kSizes = RangeSizes{}>
class ShardedRanges {
  using List = InList<P, W, true, kSizes>;
  using Link = typename List::Link;

 public:
  using Node = typename List::Node;
  using Nodes = typename List::Nodes;
  static constexpr bool kCanShare = true;
  static constexpr bool kHoldsMany = true;
  static constexpr RangeOptions kTakes{.fair = true, .writers_first = true};
  static constexpr LockInfo kInfo{
      .summary = "1024 lists in turn, a segment of the units each, for many held ranges",
      .source = "ours; the lists are list-rw's",
      .fairness = "as list-rw"};

  // Makes a new lock. `segment` is in units and is rounded up to a power of two; 0 is the default.
  void begin(std::uint64_t segment) noexcept { segment_ = segment; }
  // Destroys a lock that is not busy.
  void end() noexcept {
    // relaxed: nobody else uses it.
    if (const std::uint64_t there = lists_.exchange(0, relaxed); there != 0)
      P::unmap(Lists(there).heads, kMapped);
  }

  // For a range in one segment whose list is empty.
  [[gnu::always_inline]] bool acquire_alone(std::uint64_t start, std::uint64_t end, bool shared,
                                            Node*& out) noexcept {
    const Lists lists = peek();
    if (lists.heads == nullptr || !lists.in_one(start, end) || !queue_.is_open()) return false;
    if (!List::acquire_alone(lists.of(start), start, end, shared, out)) return false;
    out->below = nullptr;
    ++List::held().count;
    return true;
  }
  [[gnu::always_inline]] bool release_alone(Node* n) noexcept {
    if (n->below != nullptr || !List::release_alone(peek().of(n->start.get()), n)) return false;
    --List::held().count;
    return true;
  }

  [[gnu::noinline]] int acquire_slowly(const RangeRequest& r, RangeOptions options,
                                       Node*& out) noexcept {
    const typename Nodes::Lease lease;
    if (lease.get() == nullptr) return ENOMEM;
    const Lists lists = open();
    if (lists.heads == nullptr) return ENOMEM;
    typename Queue::Place place(queue_, r, options.fair);
    Parts parts(lists, r);
    int result = List::kAgain;
    for (std::uint32_t number = 0; result == List::kAgain; ++number) {
      result = place.attempt(number);
      if (result == 0) result = parts.put_in(*lease.get(), options);
    }
    if (result != 0) {
      parts.retreat();
      return result;
    }
    out = parts.top();
    ++List::held().count;
    return 0;
  }
  // Also for ranges with several nodes.
  void release_slowly(Node* n) noexcept {
    --List::held().count;
    Parts::of_held(peek(), n).retreat();
  }

  void downgrade(Node* n) noexcept {
    for (; n != nullptr; n = n->below)
      List::downgrade(n);
  }
  static bool is_mine(const Node* n) noexcept { return List::is_mine(n); }
  static bool is_shared(const Node* n) noexcept { return List::is_shared(n); }

  bool busy() noexcept {
    const typename Nodes::Lease lease;
    const Lists lists = peek();
    if (lists.heads == nullptr) return false;
    for (std::uint32_t i = 0; i < kShards; ++i) {
      if (List::Walk::any_held(lists.at(i), lease.get())) return true;
    }
    if (lease.get() != nullptr) Nodes::recycle_if_many(*lease.get());
    return false;
  }

 private:
  using Queue = RangeQueue<P, W, kSizes.patience>;
  // Eight heads share a cache line, but not those of neighbouring segments, which different threads
  // use.
  static constexpr std::uint32_t kInLine = kShards % 8 == 0 ? 8 : 1;
  static constexpr std::uint32_t kLines = kShards / kInLine;
  static constexpr std::size_t kMapped = sizeof(Link) * kShards;

  // The lists and the length of a segment. The word is an address with the shift in its low bits.
  struct Lists {
    static constexpr std::uint64_t kShift = 63;

    explicit Lists(std::uint64_t w) noexcept
        : heads(reinterpret_cast<Link*>(w & ~kShift)),
          shift(static_cast<std::uint32_t>(w & kShift)) {}
    Link& at(std::uint32_t i) const noexcept { return heads[i % kLines * kInLine + i / kLines]; }
    Link& of(std::uint64_t unit) const noexcept {
      return at(static_cast<std::uint32_t>((unit >> shift) % kShards));
    }
    bool in_one(std::uint64_t start, std::uint64_t end) const noexcept {
      return start >> shift == (end - 1) >> shift;
    }
    Segments touched_by(std::uint64_t start, std::uint64_t end) const noexcept {
      return Segments::from_to(start >> shift, (end - 1) >> shift, kShards);
    }

    Link* heads;
    std::uint32_t shift;
  };

  // The nodes of one acquisition: a stack linked by `below`, which the pools use only for their own
  // nodes. The newest node is in the list with the greatest number.
  class Parts {
   public:
    Parts(const Lists& lists, const RangeRequest& r) noexcept
        : lists_(lists), r_(r), touched_(lists.touched_by(r.start, r.end)) {}
    // Returns all nodes of a held range.
    static Parts of_held(const Lists& lists, Node* top) noexcept {
      Parts p(lists, {top->start.get(), top->end.get(), false, false, nullptr});
      p.top_ = top;
      p.count_ = p.touched_.count;
      return p;
    }
    Node* top() const noexcept { return top_; }

    // Returns 0 if all nodes are inserted, and kAgain if none is.
    int put_in(typename List::Supply& me, RangeOptions options) noexcept {
      Node* n = nullptr;
      int result = 0;
      while (result == 0 && count_ < touched_.count) {
        if (n == nullptr) n = Nodes::take(me);
        if (n == nullptr) return ENOMEM;
        List::describe(*n, r_.start, r_.end);
        result = List::attempt(lists_.at(touched_.at(count_)), me, n, r_, options, *this);
        if (result == 0) {
          n->below = top_;
          top_ = n;
          n = nullptr;
          ++count_;
        } else if (result == List::kAgain && count_ != 0) {
          result = 0;  // it did not wait, so it tries the same list once more
        }
      }
      if (n != nullptr) Nodes::give(me, n);
      return result;
    }
    // Removes the nodes that are inserted.
    void retreat() noexcept {
      while (count_ != 0) {
        Node* n = top_;
        top_ = n->below;
        --count_;
        if (!List::release_alone(lists_.at(touched_.at(count_)), n)) List::mark_released(n);
      }
    }
    // Returns whether a range of this thread is in the way in a list after the current one.
    bool has_own() const noexcept {
      for (std::uint32_t i = count_ + 1; i < touched_.count; ++i) {
        if (List::has_own(List::Walk::first_of(lists_.at(touched_.at(i))), r_, nullptr))
          return true;
      }
      return false;
    }

   private:
    const Lists lists_;
    const RangeRequest r_;
    const Segments touched_;
    Node* top_ = nullptr;
    std::uint32_t count_ = 0;
  };

  Lists peek() const noexcept { return Lists(lists_.load(acquire)); }  // pairs with open()
  // Returns no heads if there is no memory.
  Lists open() noexcept {
    const Lists there = peek();
    return there.heads != nullptr ? there : map_lists();
  }
  [[gnu::noinline]] Lists map_lists() noexcept {
    const std::uint64_t units = segment_ != 0 ? segment_ : default_range_segment;
    const int rounded = std::bit_width(units - 1);
    const std::uint64_t shift = rounded < 64 ? static_cast<std::uint64_t>(rounded) : Lists::kShift;
    void* fresh = P::map(kMapped);  // zeroes are empty lists
    std::uint64_t seen = 0;
    const std::uint64_t mine = reinterpret_cast<std::uintptr_t>(fresh) | shift;
    // acq_rel: the lists; pairs with peek(), and with the same compare-exchange of another thread.
    if (fresh == nullptr || lists_.compare_exchange(seen, mine, acq_rel)) {
      return Lists(fresh == nullptr ? 0 : mine);
    }
    P::unmap(fresh, kMapped);
    return Lists(seen);
  }

  typename P::template atomic<std::uint64_t> lists_{};
  std::uint64_t segment_ = 0;  // units; 0: the default
  Queue queue_{};
};

template <Platform P, WaitPolicy<P> W>
using ShardedRw = ShardedRanges<P, W, P::kRangeLists, kRangeSizes<P>>;

}  // namespace lockswap
