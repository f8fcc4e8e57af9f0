// BRAVO-2D: the readers table as rows by processor and columns by lock.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019), section 7, the "preferred embodiment".
// Idea: a reader fills the slot at the row of its processor and the column of the lock, so it uses
//   only cache lines of its own processor. A writer scans one column, not the whole table.
// State: the table of readers_table.h, of which a row is a part. The slots are described there.
// Invariants: a slot names a lock only in the lock's column. A reader may use any row: it may have
//   moved since it looked up its processor, so it fills a slot by a compare-exchange.
// Deviations: a row has at least one line (8 slots), so processors share rows in a small table.
//
// A ReaderSlots (readers/concept.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/readers_table.h"
#include "readers/table_slots.h"
#include "wait/concept.h"

namespace lockswap::variants {

template <Platform P, WaitPolicy<P> W>
class GridSlots : public TableSlots<P, W> {
  using Base = TableSlots<P, W>;
  using Table = ReadersTable<P>;
  static constexpr std::uint32_t kLine = 8;  // slots

  struct Shape {
    std::uint32_t last_row;  // number of rows - 1; the number is a power of two
    std::uint32_t columns;   // a power of two
  };
  static Shape& shape() noexcept { return P::template global<Shape>(); }

 public:
  static bool prepare() noexcept {
    P::prepare_topology();
    const std::uint32_t slots = table().mask + 1;
    const std::uint32_t most_rows = slots >= 2 * kLine ? slots / kLine : slots / 2;
    std::uint32_t rows = std::bit_ceil(P::cpus());
    if (rows > most_rows) rows = most_rows;
    shape() = {rows - 1, slots / rows};
    return true;
  }

  template <class Frame>
  [[gnu::always_inline]] static std::uint32_t fill(const Frame& f) noexcept {
    const std::uint32_t index =
        (P::cpu() & shape().last_row) * shape().columns + column_of(f.key());
    std::uint64_t free = 0;
    // seq_cst: the Dekker pair of table_slots.h.
    if (!table().slots[index].compare_exchange(free, f.key(), seq_cst)) [[unlikely]]
      return 0;
    return index + 1;
  }

  template <class Frame, class F>
  static bool wait(const Frame& f, const Deadline* deadline, const F& before_wait) noexcept {
    const auto vacated = [&f](std::uint64_t v) { return !names(v, f.key()); };
    return each_in_column(f.key(), [&](auto& slot) {
      before_wait();
      // acquire: pairs with the reader's release. The check before belongs to the Dekker pair.
      return W::until(slot, acquire, Table::kRevokerSleeps, Base::kRevokerChannel, deadline,
                      vacated);
    });
  }
  template <class Frame>
  static bool is_any(const Frame& f) noexcept {
    return !each_in_column(f.key(), [](auto&) { return false; });
  }
  template <class Frame>
  static bool vacate_any(const Frame& f) noexcept {
    return !each_in_column(f.key(), [&f](auto& slot) {
      if (Base::clear(slot, f.key())) return false;
      // Another thread was faster. acquire: what it left; pairs with the release in clear.
      slot.load(acquire);
      return true;
    });
  }
  template <class Frame>
  static void drop(const Frame& f) noexcept {
    each_in_column(f.key(), [&f](auto& slot) {
      Base::clear(slot, f.key());
      return true;
    });
  }

 private:
  static const Table& table() noexcept { return P::template global<Table>(); }
  static bool names(std::uint64_t slot, std::uint64_t key) noexcept {
    return (slot & ~Table::kRevokerSleeps) == key;
  }
  [[gnu::always_inline]] static std::uint32_t column_of(std::uint64_t key) noexcept {
    return static_cast<std::uint32_t>(key * 0x9E3779B97F4A7C15u >> 32) & (shape().columns - 1);
  }
  // Calls f(slot) for each slot of the column that names the lock, until it returns false. Returns
  // true if it never did.
  template <class F>
  static bool each_in_column(std::uint64_t key, const F& f) noexcept {
    const std::uint32_t column = column_of(key);
    for (std::uint32_t row = 0; row <= shape().last_row; ++row) {
      auto& slot = table().slots[row * shape().columns + column];
      // seq_cst: the revoker's half of the Dekker pair. As an acquire it pairs with the release of
      // a reader that has left.
      if (names(slot.load(seq_cst), key) && !f(slot)) return false;
    }
    return true;
  }
};

}  // namespace lockswap::variants
