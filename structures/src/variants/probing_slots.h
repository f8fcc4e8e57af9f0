// BRAVO's readers table with a second probe, or with a sector for each memory node.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019), section 7: a secondary hash; sectors by the
//   reader's node.
// Ideas: a reader whose slot is taken tries another one before it takes the underlying lock. Or its
//   slot is in the part of the table that belongs to its node, so that cache lines are shared only
//   within a node. With both, a writer scans the whole table.
// Invariants: those of table_slots.h: any slot is correct for any reader.
//
// Both are ReaderSlots (readers/concept.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "readers/readers_table.h"
#include "readers/table_slots.h"
#include "wait/concept.h"

namespace lockswap::variants {

// Publishes the reader in that slot. Returns a token, or 0 if the slot is taken.
template <Platform P, class Frame>
[[gnu::always_inline]] inline std::uint32_t fill_at(const ReadersTable<P>& table, std::size_t index,
                                                    const Frame& f) noexcept {
  std::uint64_t free = 0;
  // seq_cst: the Dekker pair of table_slots.h.
  if (!table.slots[index].compare_exchange(free, f.key(), seq_cst)) [[unlikely]]
    return 0;
  return static_cast<std::uint32_t>(index) + 1;
}

template <Platform P, WaitPolicy<P> W>
struct SecondProbe : TableSlots<P, W> {
  template <class Frame>
  static std::uint32_t fill_elsewhere(const Frame& f) noexcept {
    const auto& table = P::template global<ReadersTable<P>>();
    const std::size_t first = table.token_of(f.key()) - 1;
    // Never the first slot again. With a fixed distance, the second slots of neighbours would
    // collide, too.
    const std::uint64_t distance = first * 0x9E3779B97F4A7C15u >> 32 | 1;
    return fill_at<P>(table, (first + distance) & table.mask, f);
  }
};

template <Platform P, WaitPolicy<P> W>
class NodeSectors : public TableSlots<P, W> {
  struct Sectors {
    std::uint32_t mask;  // slots in a sector - 1
    std::uint32_t last;  // sectors - 1; both numbers are powers of two
  };

 public:
  static bool prepare() noexcept {
    P::prepare_topology();
    const std::uint32_t slots = P::template global<ReadersTable<P>>().mask + 1;
    std::uint32_t sectors = std::bit_ceil(P::node_count());
    if (sectors > slots) sectors = slots;
    P::template global<Sectors>() = {slots / sectors - 1, sectors - 1};
    return true;
  }
  template <class Frame>
  [[gnu::always_inline]] static std::uint32_t fill(const Frame& f) noexcept {
    const auto& table = P::template global<ReadersTable<P>>();
    const Sectors& sectors = P::template global<Sectors>();
    const std::size_t sector = P::node() & sectors.last;
    const std::size_t place = (table.token_of(f.key()) - 1) & sectors.mask;
    return fill_at<P>(table, sector * (sectors.mask + 1) + place, f);
  }
};

}  // namespace lockswap::variants
