// list-ex, list-rw: range locks as a sorted list of held ranges.
//
// Paper: A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address Spaces and Beyond",
//   EuroSys 2020, sections 4.1 (list-ex, listing 1), 4.2 (list-rw, listings 2 and 3), 4.5.
// Idea: a range is held by having a node in a list that is sorted by starts. Overlapping exclusive
//   ranges want the same place, so one compare-exchange decides. Shared ranges may overlap, and two
//   conflicting threads may want different places: each looks once more after it is in, readers
//   from their node to their end, writers from the head to their node; one of the two gives way.
//   A release sets a flag; who walks by takes the node out. A range alone in an empty list is put
//   there with kAlone and taken out at once.
// State (40 bytes, zero = free): head, a link (node.h); the queue of the impatient (queue.h).
// Invariants: along the list starts do not fall. A node that follows an exclusive one begins at or
//   after its end. A released node's link does not change. Only a node's owner releases it.
// Fairness: none in the list. With `fair`, queue.h. Where a reader and a writer meet in their
//   second look, the writer starts again, or, with `writers_first`, the reader.
// Space: a node (64 bytes) a range that is held, or was until somebody walked by.
// Order: walk.h.
// Deviations: a waiter leaves its walk, keeping only the one node (its pins), and starts again from
//   the head. Who waits in the list waits for one that is about to give way or not, never for one
//   that is in (kHeld): the paper's readers do, and a thread with several ranges would wait for
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
#include "range/node.h"
#include "range/queue.h"
#include "range/request.h"
#include "range/walk.h"
#include "reclaim/pools.h"

namespace lockswap {

// Exploration has small ones.
struct RangeSizes {
  std::uint32_t pool = 128;    // nodes; reclaim/pools.h
  std::uint32_t patience = 8;  // attempts; queue.h
};

// What a thread does in one list; range locks are made of one, or of several (sharded.h). Without
// readers all ranges are exclusive.
template <class P, class W, bool kReaders, RangeSizes kSizes>
class InList {
 public:
  using Link = typename P::template atomic<std::uint64_t>;
  using Node = RangeNode<P>;
  using Nodes = Pools<P, Node, kSizes.pool>;
  using Supply = typename Nodes::Supply;
  using Walk = RangeWalk<P, Nodes, kReaders>;
  static constexpr int kAgain = -1;

  static RangesHeld& held() noexcept { return P::template local<RangesHeld>(); }
  static bool is_mine(const Node* n) noexcept { return n->owner.get() == P::self(); }
  static void describe(Node& n, std::uint64_t start, std::uint64_t end) noexcept {
    n.start.set(start);
    n.end.set(end);
    n.owner.set(P::self());
  }

  // The fast path: nobody holds a range, and the thread has a node at hand.
  [[gnu::always_inline]] static bool acquire_alone(Link& head, std::uint64_t start,
                                                   std::uint64_t end, bool shared,
                                                   Node*& out) noexcept {
    Supply* me = Nodes::mine();
    if (me == nullptr || head.load(relaxed) != 0) return false;  // relaxed: a hint
    Node* n = Nodes::take_ready(*me);
    if (n == nullptr) return false;
    describe(*n, start, end);
    // relaxed: the compare-exchange publishes it.
    n->next.store((kReaders && shared ? link::kShared : 0) | link::kHeld, relaxed);
    std::uint64_t empty = 0;
    // acq_rel: the node, and the range from who left the list empty. Nobody else is in, so there is
    // nothing to look at again.
    if (!head.compare_exchange(empty, link::of(n) | link::kAlone, acq_rel)) [[unlikely]] {
      Nodes::give(*me, n);
      return false;
    }
    out = n;
    return true;
  }
  // False: it is not alone any more, or its place in the pool is not at hand.
  [[gnu::always_inline]] static bool release_alone(Link& head, Node* n) noexcept {
    Supply* me = Nodes::mine();
    std::uint64_t alone = link::of(n) | link::kAlone;
    // relaxed: if it is not so any more, the compare-exchange says so. release: the section; pairs
    // with whoever puts a node into the empty list.
    if (me == nullptr || head.load(relaxed) != alone || !head.compare_exchange(alone, 0, release)) {
      return false;
    }
    Nodes::give(*me, n);
    return true;
  }

  // One walk from the head, or more while the node stays in. 0, kAgain, or an error number. Sets n
  // to nullptr if it was in the list and had to leave again. `rest` is the acquisition's business
  // in other lists: before the thread waits for one that is in, rest.retreat(); rest.has_own() says
  // in the walk whether a range of this thread is in its way there.
  template <class Rest>
  static int attempt(Link& head, Supply& me, Node*& n, const RangeRequest& r, RangeOptions options,
                     Rest& rest) noexcept {
    Walk walk(head, me);
    Node* other = nullptr;
    switch (walk.insert(n, r, other)) {
      case Step::alone:
        return 0;
      case Step::lost:
        return kAgain;
      case Step::blocked: {
        const int result = wait_for(walk, other, r, nullptr, rest);
        return result == 0 ? kAgain : result;
      }
      case Step::in:
        break;
    }
    if constexpr (kReaders) {
      const bool preferred = r.shared != options.writers_first;
      while ((r.shared ? walk.look_on(n, other) : walk.look_back(n, other)) == Step::blocked) {
        // relaxed: if it is old, the wait ends at once.
        const bool stays = preferred && (other->next.load(relaxed) & link::kHeld) == 0;
        if (!stays) leave(n);
        const int result = wait_for(walk, other, r, stays ? n : nullptr, rest);
        if (stays && result != 0) leave(n);
        if (!stays || result != 0) {
          n = nullptr;
          return result == 0 ? kAgain : result;
        }
        walk.begin();
      }
      // relaxed: nothing goes with it.
      if (!preferred) wake(n, n->next.fetch_or(link::kHeld, relaxed));
    }
    return 0;
  }

  // Whether a range of this thread, beside `mine`, is in the way, from `first` on. In a walk.
  static bool has_own(const Node* first, const RangeRequest& r, const Node* mine) noexcept {
    for (const Node* n = first; n != nullptr && n->start.get() < r.end;) {
      const std::uint64_t w = n->next.load(seq_cst);
      const bool both_read = Walk::reads(r) && (w & link::kShared) != 0;
      if (n != mine && is_mine(n) && (w & link::kReleased) == 0 && n->end.get() > r.start &&
          !both_read) {
        return true;
      }
      n = Walk::node(w);
    }
    return false;
  }

  // The node is no range any more. What follows may be in other hands at once.
  static void leave(Node* n) noexcept {
    // release: the section; pairs with the walks' loads of the link.
    const std::uint64_t seen = n->next.fetch_or(link::kReleased, release);
    wake(n, seen);
  }
  static void downgrade(Node* n) noexcept {
    // release: the writer's section; pairs with readers' loads of the link.
    const std::uint64_t seen = n->next.fetch_or(link::kShared | link::kHeld, release);
    wake(n, seen);
  }
  static bool is_shared(const Node* n) noexcept {
    return (n->next.load(relaxed) & link::kShared) != 0;  // relaxed: its owner asks
  }

 private:
  using Step = RangeStep;
  static constexpr std::uint32_t kChannel = 1;

  // Why the thread will not wait for that node; 0: it will. In the walk that met it. Whoever it is
  // of, a range of this thread's own may lie behind it, and its owner may be waiting for that one.
  template <class Rest>
  static int refusal(const Node* other, const RangeRequest& r, const Node* mine,
                     Rest& rest) noexcept {
    if (r.only_try) return EBUSY;
    if (held().count == 0) return 0;
    return has_own(other, r, mine) || rest.has_own() ? EDEADLK : 0;
  }

  // Ends the walk and waits until `other` is not in the way any more. 0, or why not. `stays`: the
  // thread's node that stays in the list meanwhile, until `other` has given way or not; or nullptr.
  template <class Rest>
  static int wait_for(Walk& walk, Node* other, const RangeRequest& r, const Node* stays,
                      Rest& rest) noexcept {
    const int result = refusal(other, r, stays, rest);
    // relaxed: the end of the walk publishes it.
    if (result == 0) other->pins.fetch_add(1, relaxed);
    walk.end();
    if (result != 0) return result;
    if (stays == nullptr) rest.retreat();
    const std::uint64_t enough =
        link::kReleased | Walk::flags_of(r) | (stays != nullptr ? link::kHeld : 0);
    const auto gone = [enough](std::uint64_t w) { return (w & enough) != 0; };
    // A wait that ends soon does not look at the clock, and there may be one after the other.
    const bool late = r.deadline != nullptr && P::passed(*r.deadline);
    // relaxed, both: the walk that follows looks at everything anew.
    const bool over =
        late ? gone(other->next.load(relaxed))
             : W::until(other->next, relaxed, link::kSleepers, kChannel, r.deadline, gone);
    other->pins.fetch_sub(1, release);  // pairs with pinned()
    return over ? 0 : ETIMEDOUT;
  }

  // After an update of its link, which saw `seen`.
  static void wake(const Node* n, std::uint64_t seen) noexcept {
    if ((seen & link::kSleepers) != 0) W::wake(&n->next, kChannel);
  }
};

// list-rw, or, without readers, list-ex.
template <class P, class W, bool kReaders, RangeSizes kSizes = RangeSizes{}>
class RangeList {
  using List = InList<P, W, kReaders, kSizes>;

 public:
  using Node = typename List::Node;
  using Nodes = typename List::Nodes;
  static constexpr bool kCanShare = kReaders;
  // Whether threads may hold several ranges as long as they acquire them in one order.
  static constexpr bool kHoldsMany = true;
  static constexpr LockInfo kInfo =
      kReaders ? LockInfo{.summary = "a sorted list of held ranges, shared and exclusive",
                          .source = "Kogan, Dice, Issa, EuroSys 2020, 4.2",
                          .fairness = "as list-ex; readers before writers, or the other way round"}
               : LockInfo{.summary = "a sorted list of held ranges, all of them exclusive",
                          .source = "Kogan, Dice, Issa, EuroSys 2020, 4.1",
                          .fairness =
                              "the thread that comes at the right moment; one that has "
                              "failed eight times goes first"};

  // 0: the range is held, by `n`, which else stays what it was. EBUSY (only_try), ETIMEDOUT,
  // ENOMEM; EDEADLK: the thread holds a range itself that is in the way.
  int acquire_range(const RangeRequest& r, RangeOptions options, Node*& n) noexcept {
    return acquire_alone(r.start, r.end, r.shared, n) ? 0 : acquire_slowly(r, options, n);
  }
  // By the thread that acquired it.
  void release_range(Node* n) noexcept {
    if (!release_alone(n)) release_slowly(n);
  }

  // --- the same in two halves, for callers whose fast path is to need no stack frame
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
    List::leave(n);
  }

  // The rest of acquire_range.
  [[gnu::noinline]] int acquire_slowly(const RangeRequest& r, RangeOptions options,
                                       Node*& out) noexcept {
    const typename Nodes::Lease lease;
    if (lease.get() == nullptr) return ENOMEM;
    const bool bounded = r.only_try || r.deadline != nullptr;
    typename Queue::Place place(queue_, options.fair && !bounded && List::held().count == 0);
    NothingElse rest;
    Node* n = nullptr;
    int result = List::kAgain;
    for (std::uint32_t number = 0; result == List::kAgain; ++number) {
      place.attempt(number);
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
  void downgrade(Node* n) noexcept {
    static_assert(kReaders);
    List::downgrade(n);
  }
  static bool is_mine(const Node* n) noexcept { return List::is_mine(n); }
  static bool is_shared(const Node* n) noexcept { return List::is_shared(n); }

  // Whether a range is held, when no thread acquires or releases. Takes released nodes out.
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

template <class P>
inline constexpr RangeSizes kRangeSizes{.pool = P::kRangeNodes, .patience = P::kRangePatience};
template <class P, class W>
using ListEx = RangeList<P, W, false, kRangeSizes<P>>;
template <class P, class W>
using ListRw = RangeList<P, W, true, kRangeSizes<P>>;

}  // namespace lockswap
