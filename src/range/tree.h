// lustre-ex, kernel-rw: range locks as a tree of all ranges, both held and waiting.
//
// Paper: the baselines of A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address
//   Spaces and Beyond", EuroSys 2020, section 3. lustre-ex follows J. Kara's range locks of 2013,
//   kernel-rw those of D. Bueso of 2017.
// Idea: a spin lock guards an interval tree. An acquisition counts the ranges there that are in its
//   way, inserts its own, and waits until the count is 0. A release removes its range and
//   decrements the counts of all ranges that came later and overlap it.
// State (32 bytes, zero = free): the spin lock, the tree, the number of arrivals, the first of all
//   nodes.
// Invariants: a node's count is the number of ranges in the tree that came before it and overlap
//   it, unless both are shared. A range with count 0 is held. The nodes of the tree are also in a
//   list, which is intact after each store: a node is put into the list before it is in the tree
//   and counted, and is removed from the list first.
// Fairness: first come, first served. So C waits for B if B waits for A, although A is not in C's
//   way.
// Space: a node (128 bytes) for each range. Nodes come from the thread's pool, and a release
//   returns them.
// Order: everything but the count is accessed under the spin lock.
// Fork: if another thread had the spin lock, the tree in a child may be half changed. The next
//   thread that locks it rebuilds the tree and the counts from the list.
// Deviations: the wait policies take the place of the kernel's wait queues. An acquisition that
//   gives up decrements counts as a release does, which is why arrivals have numbers. try_upgrade()
//   is ours.
// Deadlock: a thread that holds a range and asks for another waits behind ranges that came in
//   between, and their threads may wait for it. The list locks don't have this deadlock.
// Destroy is safe: a release last accesses the spin lock. Only a wake may follow.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "range/interval_tree.h"
#include "range/request.h"
#include "range/spin_lock.h"
#include "reclaim/pools.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(64) RangeTreeNode : IntervalTreeLinks<RangeTreeNode<P>> {
  // kOne for each range in the way, plus kSleepers.
  typename P::template atomic<std::uint32_t> blocked{};
  bool shared = false;
  std::uint64_t arrival = 0;
  std::uint64_t owner = 0;         // P::self()
  std::uint32_t turn = 0;          // as in RangeNode
  RangeTreeNode* below = nullptr;  // for the pools
  RangeTreeNode* batch = nullptr;
  RangeTreeNode* next = nullptr;  // in the list of all nodes of the lock
  RangeTreeNode* before = nullptr;

  static bool pinned() noexcept { return false; }
};

// kernel-rw, or lustre-ex if kReaders is false.
template <Platform P, WaitPolicy<P> W, bool kReaders, std::uint32_t kPool = 128>
class RangeTree {
 public:
  using Node = RangeTreeNode<P>;
  using Nodes = Pools<P, Node, kPool>;
  static constexpr bool kCanShare = kReaders;
  // Whether threads may hold several ranges as long as they acquire them in one order.
  static constexpr bool kHoldsMany = false;
  static constexpr RangeOptions kTakes{.fair = false, .writers_first = false};
  static constexpr LockInfo kInfo =
      kReaders ? LockInfo{.summary =
                              "a tree of held and waiting ranges under a spin lock, shared and "
                              "exclusive",
                          .source = "Kogan, Dice, Issa, EuroSys 2020, 3, after D. Bueso 2017",
                          .fairness = "as lustre-ex"}
               : LockInfo{.summary =
                              "a tree of held and waiting ranges under a spin lock, all of them "
                              "exclusive",
                          .source = "Kogan, Dice, Issa, EuroSys 2020, 3, after J. Kara 2013",
                          .fairness =
                              "first come, first served, also behind a waiter that is not in "
                              "the way"};

  // There is no fast path.
  int acquire_slowly(const RangeRequest& r, RangeOptions, Node*& out) noexcept {
    const typename Nodes::Lease lease;
    Node* n = lease.get() == nullptr ? nullptr : Nodes::take(*lease.get());
    if (n == nullptr) return ENOMEM;
    n->start = r.start;
    n->end = r.end;
    n->shared = kReaders && r.shared;
    n->owner = P::self();
    int result = enter(*n, r.only_try);
    if (result == 0 && !wait_for_turn(*n, r.deadline)) result = ETIMEDOUT;
    if (result == 0) {
      ++held().count;
      out = n;
    } else {
      Nodes::give(*lease.get(), n);
    }
    return result;
  }
  void release_slowly(Node* n) noexcept {
    const typename Nodes::Lease lease;
    --held().count;
    remove(*n);
    // No other thread looks at the node any more, because counts are decremented under the lock. If
    // the thread can have no supply that stays, the node is lost.
    if (lease.get() != nullptr) Nodes::give(*lease.get(), n);
  }
  // Lets shared ranges that came later go on, unless another range is in their way.
  void downgrade(Node* n) noexcept requires kReaders {
    Sleepers sleepers;
    lock();
    n->shared = true;
    count_down(*n, sleepers, [](const Node& other) { return other.shared; });
    guard_.unlock();
  }
  // Makes a shared range exclusive. Returns EBUSY if another range that overlaps it is held, or is
  // waiting and came before it. Called by its owner.
  int try_upgrade(Node* n) noexcept requires kReaders {
    lock();
    bool alone = true;
    tree_.for_each_overlap(n->start, n->end, [&](const Node& other) {
      // relaxed: counts change under the lock.
      const bool waits_behind = other.arrival > n->arrival && other.blocked.load(relaxed) >= kOne;
      alone = alone && (&other == n || waits_behind);
    });
    if (alone) {
      n->shared = false;
      // Readers that wait for others now wait for this range as well; writers do already.
      tree_.for_each_overlap(n->start, n->end, [&](Node& other) {
        if (&other != n && other.shared)
          other.blocked.fetch_add(kOne, relaxed);  // relaxed: as above
      });
    }
    guard_.unlock();
    return alone ? 0 : EBUSY;
  }
  static bool is_mine(const Node* n) noexcept { return n->owner == P::self(); }
  static bool is_shared(const Node* n) noexcept { return n->shared; }

  bool busy() noexcept {
    lock();
    const bool some = !tree_.empty();
    guard_.unlock();
    return some;
  }

 private:
  static constexpr std::uint32_t kSleepers = 1;  // a thread may sleep until the count is 0
  static constexpr std::uint32_t kOne = 2;
  static constexpr std::uint32_t kChannel = 1;

  // The threads to wake once the spin lock is free. Those after the eighth are woken at once.
  class Sleepers {
   public:
    Sleepers() = default;
    ~Sleepers() {
      for (std::uint32_t i = 0; i < count_; ++i)
        W::wake(all_[i], kChannel);
    }
    Sleepers(const Sleepers&) = delete;
    Sleepers& operator=(const Sleepers&) = delete;
    void add(const typename P::template atomic<std::uint32_t>* a) noexcept {
      if (count_ == kMost) {
        W::wake(a, kChannel);
      } else {
        all_[count_++] = a;
      }
    }

   private:
    static constexpr std::uint32_t kMost = 8;
    const typename P::template atomic<std::uint32_t>* all_[kMost];
    std::uint32_t count_ = 0;
  };

  static RangesHeld& held() noexcept { return P::template local<RangesHeld>(); }
  static bool share(const Node& a, const Node& b) noexcept { return a.shared && b.shared; }
  void lock() noexcept {
    const bool orphaned = guard_.lock();
    // A plain variable under the spin lock, by which the explorer checks that the lock orders its
    // holders.
    arrivals_.set(arrivals_.get() + 1);
    if (orphaned) [[unlikely]]
      make_again();
  }
  // Called in a forked child. Rebuilds the tree and the counts from the list.
  [[gnu::noinline]] void make_again() noexcept {
    tree_ = {};
    Node* before = nullptr;
    for (Node* n = all_; n != nullptr; n = n->next) {
      n->before = before;
      before = n;
      tree_.insert(*n);
    }
    for (Node* n = all_; n != nullptr; n = n->next) {
      std::uint32_t in_the_way = 0;
      tree_.for_each_overlap(n->start, n->end, [&](const Node& other) {
        if (other.arrival < n->arrival && !share(*n, other)) ++in_the_way;
      });
      n->blocked.store(in_the_way * kOne, relaxed);  // relaxed: the spin lock hands it on
    }
  }
  void put_in(Node& n) noexcept {
    n.before = nullptr;
    n.next = all_;
    if (all_ != nullptr) all_->before = &n;
    P::fork_point();
    all_ = &n;
    P::fork_point();
    tree_.insert(n);
  }

  // Inserts n. If it returns EBUSY or EDEADLK, n is not in the tree.
  int enter(Node& n, bool only_try) noexcept {
    lock();
    n.arrival = arrivals_.get();
    std::uint32_t before = 0;
    bool own = false;
    tree_.for_each_overlap(n.start, n.end, [&](const Node& other) {
      if (share(n, other)) return;
      ++before;
      own = own || is_mine(&other);
    });
    const int result = before == 0 ? 0 : only_try ? EBUSY : own ? EDEADLK : 0;
    if (result == 0) {
      n.blocked.store(before * kOne, relaxed);  // relaxed: the spin lock hands it on
      put_in(n);
    }
    guard_.unlock();
    return result;
  }

  // Returns false if the deadline has passed, and then the node has been removed from the tree.
  bool wait_for_turn(Node& n, const Deadline* deadline) noexcept {
    const auto free = [](std::uint32_t v) { return v < kOne; };
    // acquire: the critical sections of all ranges that were in the way; pairs with count_down().
    if (free(n.blocked.load(acquire)) ||
        W::until(n.blocked, acquire, kSleepers, kChannel, deadline, free)) {
      return true;
    }
    Sleepers sleepers;
    lock();
    const bool in = free(n.blocked.load(relaxed));  // relaxed: counts change under the lock
    if (!in) take_out(n, sleepers);
    guard_.unlock();
    return in;
  }

  void remove(Node& n) noexcept {
    Sleepers sleepers;
    lock();
    take_out(n, sleepers);
    guard_.unlock();
  }
  void take_out(Node& n, Sleepers& sleepers) noexcept {
    (n.before == nullptr ? all_ : n.before->next) = n.next;
    P::fork_point();
    if (n.next != nullptr) n.next->before = n.before;
    tree_.erase(n);
    count_down(n, sleepers, [&](const Node& other) { return !share(n, other); });
  }

  // Decrements the counts of the ranges that came later, overlap n, and for which waits() is true.
  template <class F>
  void count_down(const Node& n, Sleepers& sleepers, F waits) noexcept {
    tree_.for_each_overlap(n.start, n.end, [&](Node& other) {
      if (&other == &n || other.arrival < n.arrival || !waits(other)) return;
      // release: the critical section; pairs with wait_for_turn().
      if (other.blocked.fetch_sub(kOne, release) == (kOne | kSleepers))
        sleepers.add(&other.blocked);
    });
  }

  SpinLock<P, W> guard_{};
  IntervalTree<Node> tree_{};
  typename P::template plain<std::uint64_t> arrivals_{};
  Node* all_ = nullptr;
};

template <Platform P, WaitPolicy<P> W>
using LustreEx = RangeTree<P, W, false, P::kRangeNodes>;
template <Platform P, WaitPolicy<P> W>
using KernelRw = RangeTree<P, W, true, P::kRangeNodes>;

}  // namespace lockswap
