// sharded-rw: range locks as many sorted lists of held ranges, for when many are held.
//
// Source: ours; the lists are those of list.h. The paper (section 4.1) leaves long lists to a skip
//   list of ranges. That finds the place, but an exclusive range also has to meet each shared one
//   that begins before it and reaches it, wherever that is (docs/range-locks.md).
// Idea: the units are cut into segments, which take turns at kShards lists. A range has a node in
//   the list of each segment that it touches. Two ranges that overlap have a unit in common, and
//   so a list, in which one of them finds the other; other ranges in a list are no obstacle, since
//   nodes have the range's bounds. A thread goes through the lists by rising numbers. At an
//   obstacle it takes out the nodes that it has already put in, waits, and begins again.
// State (48 bytes, zero = free): the lists, mapped when the first range is acquired, with the
//   length of a segment; the queue (queue.h).
// Invariants: those of list.h, in each list. A thread that waits for a held range has no node of
//   that acquisition in any list; so it is in nobody's way, and list-rw's freedom from deadlock
//   stays. (Its nodes stay in while it waits for an acquisition that may give way.) A thread that
//   is in another's way without holding its range has come further than the other; so the furthest
//   one is stopped by held ranges only.
// Fairness: list-rw's. A thread that finds a list empty looks at the queue, too, else narrow ranges
//   would pass by a wide one that is impatient.
// Space: 8 bytes a list; a node (64 bytes) for each segment that a range touches, kShards at most.
// Cost: a walk through a list for each of them.
// Order: nothing is ordered between lists: each range is acquired, and released, in each.
// Destroy is safe: as list.h; the lists themselves go when the lock is destroyed. But a release of
//   several nodes is not one step: a thread that has seen one of them released may still find
//   another, so a try, or destroy, returns EBUSY until the release has ended. (A count of releases
//   under way would be a word that all of them write, on the line that the fast path reads.)
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

  // A new lock; `segment`: units, rounded up to a power of two; 0: the default.
  void begin(std::uint64_t segment) noexcept { segment_ = segment; }
  // Destroys a lock that is not busy.
  void end() noexcept {
    // relaxed: nobody else uses it.
    if (const std::uint64_t there = lists_.exchange(0, relaxed); there != 0)
      P::unmap(Lists(there).heads, kMapped);
  }

  // In one segment, whose list is empty.
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
  // Also of a range with several nodes.
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
  // Eight heads share a cache line: not those of neighbours, which different threads use.
  static constexpr std::uint32_t kInLine = kShards % 8 == 0 ? 8 : 1;
  static constexpr std::uint32_t kLines = kShards / kInLine;
  static constexpr std::size_t kMapped = sizeof(Link) * kShards;

  // The lists, and how long a segment is: the word is an address with a shift in its low bits.
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

  // The nodes of one acquisition: a stack, linked by `below`, which the pools need only for nodes
  // that are theirs. The newest is in the list of the greatest number.
  class Parts {
   public:
    Parts(const Lists& lists, const RangeRequest& r) noexcept
        : lists_(lists), r_(r), touched_(lists.touched_by(r.start, r.end)) {}
    // All nodes of a range that is held.
    static Parts of_held(const Lists& lists, Node* top) noexcept {
      Parts p(lists, {top->start.get(), top->end.get(), false, false, nullptr});
      p.top_ = top;
      p.count_ = p.touched_.count;
      return p;
    }
    Node* top() const noexcept { return top_; }

    // 0: all of them are in. kAgain: none is.
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
          result = 0;  // it did not wait: it tries the same list once more
        }
      }
      if (n != nullptr) Nodes::give(me, n);
      return result;
    }
    // Takes out the nodes that are in.
    void retreat() noexcept {
      while (count_ != 0) {
        Node* n = top_;
        top_ = n->below;
        --count_;
        if (!List::release_alone(lists_.at(touched_.at(count_)), n)) List::mark_released(n);
      }
    }
    // In the lists after this one.
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
  // No heads: no memory.
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
    // acq_rel: the lists; pairs with peek(), and with another thread's.
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
