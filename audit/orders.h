// The orders in which threads take locks: taking one while holding another is an order of the two.
// If orders form a cycle, each of its threads may hold what the one before it asks for, and then
// all of them wait for ever. The table has a fixed size. To make room, orders of locks that are
// gone are dropped first, then the oldest ones, which are counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/guard.h"
#include "audit/held.h"
#include "audit/me.h"
#include "audit/record.h"
#include "platform/atomic.h"

namespace lockswap::audit {

// A lock that a thread is about to take.
struct Asked {
  std::uint64_t address;
  std::uint64_t number;  // LockEntry's
  std::uint64_t site;
  bool writes;
  bool for_ever;  // without a deadline
  bool is_mutex;
};

// The first time that a lock was taken while another one was held.
struct Order {
  std::uint64_t held{}, asked{};  // the locks' numbers; 0 = empty
  std::uint64_t held_address{}, asked_address{};
  std::uint64_t held_site{}, asked_site{};
  std::uint64_t serial{};  // of the thread
  std::uint32_t held_stack{}, asked_stack{};
  std::uint32_t tid{};
  std::uint32_t next_of_pair{}, next_of_held{};  // orders with the same hash
  std::uint32_t visit{};                         // the last search that visited it
  bool holds_to_write{}, asks_to_write{};
  bool held_is_mutex{}, asked_is_mutex{};
  bool alone{};  // seen only while there was a single thread
  // The mutexes and locks held for writing that every thread also held when it asked. Two threads
  // that share one of them never meet. 0 = none.
  static constexpr std::size_t kGates = 6;
  std::uint64_t gates[kGates]{};
};

class Orders {
 public:
  // Called when the thread is about to take a lock and may wait for it. The caller must hold no
  // guard.
  void note_all(Me& m, const Asked& asked) noexcept;

 private:
  static constexpr std::uint32_t kOrders = 1u << 15, kBuckets = 1u << 14;
  static constexpr std::uint32_t kQueue = 4096;  // orders that one search visits
  static constexpr std::uint32_t kSaid = 1u << 12;

  // A path of orders, each from the lock that the one before asks for.
  struct Path {
    std::uint32_t count{};
    std::uint32_t order[kLocksOfCircle]{};
  };

  // Returns false if the thread does not hold it any more.
  bool see(const Me& m, const HeldLock& held, const Asked& asked, const Order& now) noexcept;
  std::uint32_t find(const Order& o) noexcept;
  std::uint32_t add(const Order& o) noexcept;
  void drop(std::uint32_t index) noexcept;
  void make_room() noexcept;

  // From here on: orders_search.cpp. Finds all two-lock cycles with this order, or otherwise the
  // shortest cycle.
  void look_for_circles(std::uint32_t index) noexcept;
  bool look_for_pairs(std::uint32_t index) noexcept;
  std::uint32_t distance(std::uint32_t from, std::uint64_t to) noexcept;
  bool extend(Path& path, std::uint32_t length, bool certain, std::uint32_t& steps) noexcept;
  bool fits(const Path& path, const Order& next, bool closes, bool certain) const noexcept;
  bool is_whole(const Path& path) noexcept;
  void say(const Path& path) noexcept;

  std::uint32_t* bucket_of_pair(std::uint64_t held, std::uint64_t asked) noexcept;
  std::uint32_t* bucket_of_held(std::uint64_t held) noexcept;
  std::uint32_t first_from(std::uint64_t held) noexcept;

  Guard guard_;
  std::uint32_t count_{};   // places used so far
  std::uint32_t free_{};    // a list of places, by next_of_pair
  std::uint32_t oldest_{};  // where to look for the next one to drop
  std::uint32_t visits_{};
  NativeAtomic<std::uint32_t> dropped_{};  // changes whenever threads must recheck
  std::uint32_t of_pair_[kBuckets]{}, of_held_[kBuckets]{};
  std::uint32_t queue_[kQueue]{};
  std::uint64_t said_[kSaid]{};
  Order all_[kOrders]{};  // number 0 is unused
};

}  // namespace lockswap::audit
