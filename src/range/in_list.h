// A thread's operations on one list of ranges. A range lock consists of one list (list.h), or of
// several (sharded.h). list.h has the paper, the idea and the invariants.
//
// Stages: acquire_alone and release_alone are the fast ones, which make no call. The slow stages
//   are made of attempt and mark_released.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "range/node.h"
#include "range/request.h"
#include "range/walk.h"
#include "reclaim/pools.h"
#include "wait/concept.h"

namespace lockswap {

// Sizes, which are small in exploration.
struct RangeSizes {
  std::uint32_t pool = 128;    // nodes in a pool; reclaim/pools.h
  std::uint32_t patience = 8;  // attempts before a thread is impatient; queue.h
};

// kReaders: whether ranges can be shared. If not, all are exclusive.
template <Platform P, WaitPolicy<P> W, bool kReaders, RangeSizes kSizes>
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

  // The fast stage. Acquires if no range is held and the thread has a node ready.
  [[gnu::always_inline]] static bool acquire_alone(Link& head, std::uint64_t start,
                                                   std::uint64_t end, bool shared,
                                                   Node*& out) noexcept {
    Supply* me = Nodes::mine();
    if (me == nullptr || head.load(relaxed) != 0) return false;  // relaxed: a hint
    Node* n = Nodes::take_ready(*me);
    if (n == nullptr) return false;
    describe(*n, start, end);
    // relaxed: the compare-exchange publishes it.
    n->next.store((kReaders && shared ? link::kShared : link::kNone) | link::kHeld, relaxed);
    std::uint64_t empty = 0;
    // release: the node. acquire: pairs with the release that emptied the list. No other node is in
    // the list, so there is nothing to check a second time.
    if (!head.compare_exchange(empty, link::of(n) | link::kAlone, acq_rel)) [[unlikely]] {
      Nodes::give(*me, n);
      return false;
    }
    out = n;
    return true;
  }
  // Returns false if the node is not alone any more, or if the thread has no supply of nodes.
  [[gnu::always_inline]] static bool release_alone(Link& head, Node* n) noexcept {
    Supply* me = Nodes::mine();
    std::uint64_t alone = link::of(n) | link::kAlone;
    // relaxed: a hint, since the compare-exchange decides. release: the critical section; pairs
    // with the compare-exchange that puts the next node into the empty list.
    if (me == nullptr || head.load(relaxed) != alone || !head.compare_exchange(alone, 0, release)) {
      return false;
    }
    Nodes::give(*me, n);
    return true;
  }

  // Tries to acquire the range by a walk from the head, and by further ones while its node stays in
  // the list. Returns 0, kAgain, or an error number. Sets n to nullptr if the node was in the list
  // and has been released again. `rest` stands for the acquisition's part in other lists:
  // rest.retreat() is called before the thread waits for a held range, and rest.has_own(), called
  // during the walk, returns whether a range of this thread is in the way there.
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
        // relaxed: if the value is old, the wait ends at once.
        const bool stays = preferred && (other->next.load(relaxed) & link::kHeld) == 0;
        if (!stays) mark_released(n);
        const int result = wait_for(walk, other, r, stays ? n : nullptr, rest);
        if (stays && result != 0) mark_released(n);
        if (!stays || result != 0) {
          n = nullptr;
          return result == 0 ? kAgain : result;
        }
        walk.begin();
      }
      // relaxed: it publishes nothing else.
      if (!preferred) wake(n, n->next.fetch_or(link::kHeld, relaxed));
    }
    return 0;
  }

  // Returns whether a range of this thread other than `mine` is in the way, searching from `first`.
  // Must be called during a walk.
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

  // Makes the node no longer a range. It may be removed and reused at once.
  static void mark_released(Node* n) noexcept {
    // release: the critical section; pairs with the walks' loads of the link.
    const std::uint64_t seen = n->next.fetch_or(link::kReleased, release);
    wake(n, seen);
  }
  static void downgrade(Node* n) noexcept {
    // release: the writer's critical section; pairs with the readers' loads of the link.
    const std::uint64_t seen = n->next.fetch_or(link::kShared | link::kHeld, release);
    wake(n, seen);
  }
  static bool is_shared(const Node* n) noexcept {
    return (n->next.load(relaxed) & link::kShared) != 0;  // relaxed: only its owner calls this
  }

 private:
  using Step = RangeStep;
  static constexpr std::uint32_t kChannel = 1;

  // Returns why the thread must not wait for that node, or 0 if it may. Must be called during the
  // walk that met the node. A range of this thread may be anywhere behind that node, and the node's
  // owner may be waiting for it.
  template <class Rest>
  static int refusal(const Node* other, const RangeRequest& r, const Node* mine,
                     Rest& rest) noexcept {
    if (r.only_try) return EBUSY;
    if (held().count == 0) return 0;
    return has_own(other, r, mine) || rest.has_own() ? EDEADLK : 0;
  }

  // Ends the walk and waits until `other` is not in the way any more. Returns 0 or an error number.
  // `stays` is the thread's own node if it stays in the list until `other` has given way or is
  // held.
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
        link::kReleased | Walk::flags_of(r) | (stays != nullptr ? link::kHeld : link::kNone);
    const auto is_over = [enough](std::uint64_t w) { return (w & enough) != 0; };
    // Checked here because a wait that ends at once does not read the clock, and many may follow
    // each other.
    const bool late = r.deadline != nullptr && P::passed(*r.deadline);
    // relaxed, both: the walk that follows loads everything again.
    const bool over =
        late ? is_over(other->next.load(relaxed))
             : W::until(other->next, relaxed, link::kSleepers, kChannel, r.deadline, is_over);
    other->pins.fetch_sub(1, release);  // pairs with pinned()
    return over ? 0 : ETIMEDOUT;
  }

  // Called after an update of the node's link that returned `seen`.
  static void wake(const Node* n, std::uint64_t seen) noexcept {
    if ((seen & link::kSleepers) != 0) W::wake(&n->next, kChannel);
  }
};

}  // namespace lockswap
