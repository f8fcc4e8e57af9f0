// A log of LDU (lockswap/ldu.hpp): a list that objects are added to without a lock, and that is
// taken as a whole. What was taken can't come back while somebody adds, so no tags are needed.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockswap/ldu/hook.hpp"

namespace lockswap::ldu_parts {

template <class P>
class log {
  using word = typename P::template atomic<std::uint64_t>;

 public:
  // True: it was empty.
  template <class SetNext>
  bool push(std::uint64_t object, SetNext set_next) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);  // compared below
    do {
      set_next(head);
      // seq_cst: release for the object and what lies below it, pairs with take; and before an
      // announcement: ldu.hpp has the order.
    } while (!head_.compare_exchange(head, object, std::memory_order_seq_cst));
    return head == 0;
  }
  // Relaxed: the thread that adds to it alone asks, and it reads what it wrote last, or 0.
  bool is_empty_to_owner() const noexcept { return head_.load(std::memory_order_relaxed) == 0; }
  // seq_cst: after an announcement was taken; ldu.hpp has the order.
  bool is_empty() const noexcept { return head_.load(std::memory_order_seq_cst) == 0; }
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
  // The number of objects.
  static std::uint64_t apply(Structure& to, std::uint64_t head) noexcept {
    std::uint64_t length = 0;
    for (; head != 0; ++length) {
      object& o = *reinterpret_cast<object*>(head);
      head = Structure::hook(o).next_.get();  // before take, after which o may be logged again
      const std::uint64_t pending = Structure::hook(o).take();
      if ((pending & kInsert) != 0) to.insert(o);
      if ((pending & kRemove) != 0) to.remove(o);
      if ((pending & kDead) != 0) to.free(o);
    }
    return length;
  }
};

}  // namespace lockswap::ldu_parts
