// In which order threads take two reader-writer locks: taking one while holding another is an order
// of the two, and the opposite one is looked for. A table of fixed size; the orders of locks that
// are gone make room first, then the oldest, which is counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/guard.h"
#include "audit/held.h"
#include "audit/me.h"

namespace lockswap::audit {

// What a thread is about to take.
struct Asked {
  std::uint64_t address;
  std::uint64_t number;  // LockEntry's
  std::uint64_t site;
  bool writes;
  bool for_ever;  // without a deadline
};

// One lock taken while another was held, for the first time.
struct Order {
  std::uint64_t held{}, asked{};  // the locks' numbers; 0 = empty
  std::uint64_t held_address{}, asked_address{};
  std::uint64_t held_site{}, asked_site{};
  std::uint32_t tid{};
  bool holds_to_write{}, asks_to_write{};
  std::uint8_t said{};  // opposite orders that were noted, by their modes
  // Write holds and mutexes that every thread had before it took the first of the two: threads
  // that take them in opposite orders behind a common one never meet. 0 = none.
  static constexpr std::size_t kGates = 4;
  std::uint64_t gates[kGates]{};
};

class Orders {
 public:
  // The thread is about to take a lock, and may wait for it. No guard is held.
  void note_all(Me& m, const Asked& asked) noexcept;

 private:
  static constexpr std::size_t kOrders = 8;  // of a set
  static constexpr std::size_t kSets = 1024;

  // Both orders of two locks are in the same set.
  struct Set {
    Guard guard;
    std::uint32_t oldest{};
    Order order[kOrders]{};
  };

  // False: the thread does not hold it any more.
  bool see(const Me& m, const HeldLock& held, const Asked& asked) noexcept;

  Set sets_[kSets]{};
};

}  // namespace lockswap::audit
