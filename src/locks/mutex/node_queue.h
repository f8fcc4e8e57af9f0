// What the queue locks have in common (mcs.h, clh.h): a queue of nodes from the arena, which a
// thread joins by one exchange of the tail.
//
// State (8 bytes, zero = free; node = 32-bit handle):
//   tail    the newest node; 0: nobody holds the lock or waits
//   holder  the holder's node, which is why any thread may release the lock
// Invariant: only the holder writes `holder`.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

// Lock derives from this, and provides
//   renew(me)        makes a node ready for the queue; is_new(me): it is as renew made it
//   slow_lock(arrival), slow_unlock(rest): see FastMutexCore
template <class Lock, Platform P, class NodeOf>
class NodeQueue {
 protected:
  using Node = NodeOf;
  using Nodes = typename P::template nodes<Node>;
  using Handle = std::uint32_t;

 public:
  static constexpr Claims kClaims{.fifo_writers = true};
  static constexpr LockInfo info(const char* summary, const char* source, unsigned instructions) {
    return {.summary = summary,
            .source = source,
            .fairness = "first come first served",
            .instructions = instructions};
  }

  static bool prepare() noexcept { return Nodes::prepare(); }

  void lock() noexcept {
    if (const std::uint64_t arrival = enter(Nodes::take()); arrival != 0) self().slow_lock(arrival);
  }
  // The hot path of lock. Returns 0 (locked), kNotBegun (nothing done) or slow_lock's argument.
  static constexpr std::uint64_t kNotBegun = ~std::uint64_t{0};
  [[gnu::always_inline]] std::uint64_t fast_lock() noexcept {
    const Handle me = Nodes::take_kept();
    return me != 0 ? enter(me) : kNotBegun;
  }

  // Does nothing if nobody holds the lock, as in glibc.
  void unlock() noexcept {
    if (const std::uint32_t rest = fast_unlock(); rest != 0) self().slow_unlock(rest);
  }
  // The hot path of unlock. Returns 0 if all is done, and otherwise slow_unlock's argument.
  [[gnu::always_inline]] std::uint32_t fast_unlock() noexcept {
    const Handle me = holder_.load(relaxed);  // as in own
    if (me == 0) [[unlikely]]
      return 0;
    holder_.store(0, relaxed);  // before the release that passes the lock on
    if (!close_queue(me)) [[unlikely]]
      return me;
    return Nodes::keep(me) ? 0 : me | kLeft;
  }

  // --- in a forked child; see mutex_contract.h. relaxed: fork() orders what threads did. Returns
  // true if the lock is free (with `held`, held) and has no other trace. If others use it already,
  // the answer is ignored.
  bool needs_no_repair(bool held) const noexcept {
    const Handle holder = holder_.load(relaxed);
    if (tail_.load(relaxed) != holder || held != (holder != 0)) return false;
    return !held || (Nodes::is_handle(holder) && Lock::is_new(holder));
  }
  // Drops the waiting threads, and the holder unless it is to stay. Their nodes are leaked.
  // The lock may be an unrelated process's that looks like an ancestor's, so the handle may name no
  // node.
  void repair_after_fork(bool held) noexcept {
    Handle holder = held ? holder_.load(relaxed) : 0;
    if (held && !Nodes::is_handle(holder)) holder = Nodes::take();
    if (held) Lock::renew(holder);
    holder_.store(holder, relaxed);
    tail_.store(holder, relaxed);
  }

 protected:
  static constexpr std::uint32_t kLeft = 1u << 31;  // next to a handle: it is out of the queue

  // Returns 0 if the lock is held, or else the previous node and this one.
  [[gnu::always_inline]] std::uint64_t enter(Handle me) noexcept {
    Lock::renew(me);  // published by the RMW on the tail
    Handle none = 0;
    if (P::is_alone() && tail_.compare_exchange_alone(none, me)) [[unlikely]] {
      own(me);
      return 0;
    }
    // acq_rel: release publishes the node; acquire pairs with the release in close_queue that left
    // the queue empty, or with the publication of the previous node.
    const Handle before = tail_.exchange(me, acq_rel);
    if (before != 0) [[unlikely]]
      return std::uint64_t{before} << 32 | me;
    own(me);
    return 0;
  }
  // Called by the thread that has the lock now.
  [[gnu::always_inline]] void own(Handle me) noexcept {
    P::check([this] { return holder_.load(relaxed) == 0; });
    holder_.store(me, relaxed);  // read by the thread that releases
  }

  // Returns true if nobody has queued behind that node, so that the queue is empty now.
  [[gnu::always_inline]] bool close_queue(Handle me) noexcept {
    Handle expected = me;
    if (P::is_alone()) return tail_.compare_exchange_alone(expected, 0);
    // relaxed: the compare-exchange decides. A thread that is seen behind this one stays there, or
    // puts this node back.
    if (tail_.load(relaxed) != me) [[unlikely]]
      return false;
    // release: the critical section; pairs with enter and try_lock.
    return tail_.compare_exchange(expected, 0, release);
  }

  typename P::template atomic<Handle> tail_{};
  typename P::template atomic<Handle> holder_{};

 private:
  Lock& self() noexcept { return static_cast<Lock&>(*this); }
};

}  // namespace lockswap
