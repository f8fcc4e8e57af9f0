// Where BRAVO's readers publish themselves: in slots of a table that all locks and threads share.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019), section 3.
// Idea: a reader writes the lock's key into the slot that lock and thread hash to, if it is empty,
//   and empties it when it releases. A revoker scans all slots.
// Invariants: a slot is only ever changed from 0 to a key, from that key to 0, or by adding its
//   revoker bit.
// Deviations: a slot is released by a compare-exchange, not by a store, because a sleeping revoker
//   leaves its bit in the slot, and because another thread may have released the hold, after which
//   any reader may have the slot.
//
// A ReaderSlots (readers/concept.h), as row_slots.h is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/readers_table.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, class Tables = OneTable<P>>
class TableSlots {
  using Table = ReadersTable<P>;
  using Slot = typename Table::Slot;

 public:
  static bool prepare() noexcept { return true; }

  template <class Frame>
  [[gnu::always_inline]] static std::uint32_t fill(const Frame& f) noexcept {
    const Table& table = Tables::of(f);
    const std::size_t slot = table.token_of(f.key());
    std::uint64_t free = 0;
    // seq_cst: a Dekker pair. Either the revoker's scan sees this slot, or this thread sees that
    // the bias is off (kLook).
    if (!table.slots[slot - 1].compare_exchange(free, f.key(), seq_cst)) [[unlikely]]
      return 0;
    const auto token = static_cast<std::uint32_t>(slot);
    if (token == 0) __builtin_unreachable();  // lets the compiler drop callers' checks
    return token;
  }
  template <class Frame>
  static std::uint32_t fill_elsewhere(const Frame&) noexcept {
    return 0;
  }
  static constexpr Order kLook = seq_cst;

  template <class Frame, class Closed>
  static bool vacate(const Frame& f, std::uint32_t token, const Closed&) noexcept {
    Slot& slot = slot_of(f, token);
    if (clear(slot, f.key())) return true;
    // acquire: this reader inherits another hold, and must see the writers that preceded that hold.
    // Pairs with the release in the other thread's clear: slots only change by RMWs, so each later
    // value continues the release sequence.
    slot.load(acquire);
    return false;
  }
  template <class Frame, class Closed>
  [[gnu::always_inline]] static bool fast_vacate(const Frame& f, std::uint32_t token,
                                                 const Closed&) noexcept {
    std::uint64_t seen = f.key();
    return slot_of(f, token).compare_exchange(seen, 0, release);  // as in clear
  }

  static constexpr bool kHasHeavyFence = false;
  static void heavy_fence() noexcept {}  // the scans below begin with a fence

  template <class Frame, class F>
  static bool wait(const Frame& f, const Deadline* deadline, const F& before_wait) noexcept {
    const Table& table = Tables::of(f);
    const auto vacated = [&f](std::uint64_t v) { return (v & ~Table::kRevokerSleeps) != f.key(); };
    return P::scan(table.slots, table.mask + 1, f.key(), [&](std::size_t i) {
      before_wait();
      // seq_cst: the scan's loads are only hints. As an acquire it pairs with clear.
      return W::until(table.slots[i], seq_cst, Table::kRevokerSleeps, kRevokerChannel, deadline,
                      vacated);
    });
  }
  template <class Frame>
  static bool is_any(const Frame& f) noexcept {
    const Table& table = Tables::of(f);
    return !P::scan(table.slots, table.mask + 1, f.key(), [&](std::size_t i) {
      return (table.slots[i].load(seq_cst) & ~Table::kRevokerSleeps) != f.key();  // as in wait
    });
  }
  template <class Frame>
  static bool vacate_any(const Frame& f) noexcept {
    const Table& table = Tables::of(f);
    return !P::scan(table.slots, table.mask + 1, f.key(), [&](std::size_t i) {
      return !clear(table.slots[i], f.key());  // go on while nothing was released
    });
  }
  template <class Frame>
  static void drop(const Frame& f) noexcept {
    const Table& table = Tables::of(f);
    P::scan(table.slots, table.mask + 1, f.key(), [&](std::size_t i) {
      clear(table.slots[i], f.key());
      return true;
    });
  }

  template <class Frame>
  static std::uint32_t guard(const Frame& f) noexcept {
    return Tables::of(f).guard;
  }

 protected:
  static constexpr std::uint32_t kRevokerChannel = 1;

  template <class Frame>
  static Slot& slot_of(const Frame& f, std::uint32_t token) noexcept {
    return Tables::of(f).slots[std::size_t{token} - 1];
  }

  // Empties the slot if it names the lock; wakes a revoker that sleeps there.
  static bool clear(Slot& slot, std::uint64_t key) noexcept {
    std::uint64_t seen = key;
    // release: publishes the reader's critical section; pairs with the seq_cst re-read in wait.
    if (slot.compare_exchange(seen, 0, release)) [[likely]]
      return true;
    if (seen != (key | Table::kRevokerSleeps)) return false;
    if (!slot.compare_exchange(seen, 0, release)) return false;  // another thread released it
    W::wake(&slot, kRevokerChannel);  // the slot, not the lock, which may no longer exist
    return true;
  }
};

}  // namespace lockswap
