// A log of LDU (lockswap/ldu.hpp): a list to which objects are added without a lock, and which is
// taken as a whole. What was taken can't come back while a thread adds, so no tags are needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "lockswap/ldu/hook.hpp"

namespace lockswap {

/// Counts of updates.
struct ldu_counts {
  /// Inserts and removes.
  std::uint64_t updates = 0;
  /// Those that undid one that was still pending, so that neither was applied.
  std::uint64_t absorbed = 0;
  /// How often an object was put into a log.
  std::uint64_t logged = 0;
};

}  // namespace lockswap

/// @cond private
namespace lockswap::ldu_parts {

// If a structure has no free function, its objects can't be retired.
template <class Structure>
concept frees = requires(Structure& s, typename Structure::object& o) {
  s.free(o);
};

template <class P>
class log {
  using word = typename P::template atomic<std::uint64_t>;

 public:
  // Returns true if it was empty.
  template <class SetNext>
  bool push(std::uint64_t object, SetNext set_next) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);  // compared below
    do {
      set_next(head);
      // seq_cst: a release for the object and what is below it, which pairs with take; and it comes
      // before an announcement: ldu.hpp has the order.
    } while (!head_.compare_exchange(head, object, std::memory_order_seq_cst));
    return head == 0;
  }
  // relaxed: only the thread that adds to it calls this, and reads what it wrote last, or 0.
  bool is_empty_to_owner() const noexcept { return head_.load(std::memory_order_relaxed) == 0; }
  // seq_cst: after an announcement was taken; ldu.hpp has the order.
  bool is_empty() const noexcept { return head_.load(std::memory_order_seq_cst) == 0; }
  // acquire: its contents; pairs with push.
  std::uint64_t head() const noexcept { return head_.load(std::memory_order_acquire); }
  std::uint64_t take() noexcept {
    if (is_empty()) return 0;
    return head_.exchange(0, std::memory_order_acquire);  // pairs with push
  }

 private:
  word head_{};  // an object's address
};

// What was taken from a log, under the structure's lock.
template <class Structure, class P>
class chain {
  using object = typename Structure::object;

 public:
  static std::uint64_t address(object& o) noexcept { return reinterpret_cast<std::uintptr_t>(&o); }
  template <class Log>
  static bool add(Log& log, object& o) noexcept {
    return log.push(address(o), [&o](std::uint64_t below) { Structure::hook(o).next_.set(below); });
  }
  // Returns the number of objects in a log that nobody takes.
  static std::uint64_t length(std::uint64_t head) noexcept {
    std::uint64_t n = 0;
    for (; head != 0; ++n)
      head = Structure::hook(*reinterpret_cast<object*>(head)).next_.get();
    return n;
  }
  // Returns the number of objects. Adds what was done with them since they were logged to `counts`.
  static std::uint64_t apply(Structure& to, std::uint64_t head, ldu_counts& counts) noexcept {
    std::uint64_t length = 0;
    for (head = turned(head); head != 0; ++length) {
      object& o = *reinterpret_cast<object*>(head);
      head = Structure::hook(o).next_.get();  // before take, after which o may be logged again
      const std::uint64_t pending = Structure::hook(o).take();
      if ((pending & kInsert) != 0) to.insert(o);
      if ((pending & kRemove) != 0) to.remove(o);
      counts.updates += pending / kUpdate;
      counts.absorbed += pending / kUpdate / 2;
      if constexpr (frees<Structure>) {
        if ((pending & kDead) != 0) to.free(o);
      }
    }
    counts.logged += length;
    return length;
  }

 private:
  // Returns the same objects in the order in which they were logged. Programs insert neighbours one
  // after the other, so a tree's branches are predicted as they are without a log. Nobody else
  // reads a link while its object is in a log.
  static std::uint64_t turned(std::uint64_t head) noexcept {
    std::uint64_t done = 0;
    while (head != 0) {
      auto& next = Structure::hook(*reinterpret_cast<object*>(head)).next_;
      const std::uint64_t below = next.get();
      next.set(done);
      done = std::exchange(head, below);
    }
    return done;
  }
};

}  // namespace lockswap::ldu_parts
/// @endcond
