// BRAVO's readers table in other sizes: by the number of processors, or by the collisions seen.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019), section 7 (sizing by collisions), and a
//   note: at least one cache sector per processor.
// Ideas: a writer that revokes scans the table, so a smaller one is faster. By processors: each has
//   16 slots, two cache lines, which processors fetch in pairs. By collisions: the table begins
//   with kFirst slots, and doubles when the number of readers that have found their slot taken
//   reaches a quarter of its size. All of it is mapped from the start.
// Order of growing: a reader loads the size before it fills a slot, and a revoker after it has
//   revoked the bias. If the revoker has an older size than the reader, its load comes before the
//   reader's in the single order of seq_cst, so the reader finds the bias off.
// Invariants: the table never shrinks, so every slot that was ever in use is in each later scan.
//
// Both are ReaderSlots (readers/concept.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "readers/readers_table.h"
#include "readers/table_slots.h"
#include "variants/probing_slots.h"
#include "wait/concept.h"

namespace lockswap::variants {

template <Platform P>
struct TableOfProcessors {
  struct Size {
    std::uint32_t mask;
  };
  template <class Frame>
  static ReadersTable<P> of(const Frame&) noexcept {
    ReadersTable<P> table = P::template global<ReadersTable<P>>();
    table.mask = P::template global<Size>().mask;
    return table;
  }
};

template <Platform P, WaitPolicy<P> W>
struct SlotsOfProcessors : TableSlots<P, W, TableOfProcessors<P>> {
  static bool prepare() noexcept {
    P::prepare_topology();
    const std::uint32_t most = P::template global<ReadersTable<P>>().mask;
    const std::uint32_t mask = 16 * std::bit_ceil(P::cpus()) - 1;
    P::template global<typename TableOfProcessors<P>::Size>().mask = std::min(mask, most);
    return true;
  }
};

template <Platform P>
class GrowingTable {
  struct Growth {
    typename P::template atomic<std::uint32_t> mask{};  // 0: not prepared
    typename P::template atomic<std::uint32_t> collisions{};
  };
  static Growth& growth() noexcept { return P::template global<Growth>(); }
  static const ReadersTable<P>& whole() noexcept { return P::template global<ReadersTable<P>>(); }

 public:
  static constexpr std::uint32_t kFirst = 64;

  // Called once at start-up, so the orders do not matter.
  static void prepare() noexcept {
    if (growth().mask.load(relaxed) != 0) return;
    growth().mask.store(std::min(kFirst - 1, whole().mask / 2), relaxed);
  }
  template <class Frame>
  static ReadersTable<P> of(const Frame&) noexcept {
    ReadersTable<P> table = whole();
    table.mask = mask();
    return table;
  }
  // seq_cst: see the head.
  static std::uint32_t mask() noexcept { return growth().mask.load(seq_cst); }
  static std::uint32_t first_mask() noexcept { return std::min(kFirst - 1, whole().mask / 2); }

  // Counts a collision at that size. Returns whether the table is larger now.
  static bool collided(std::uint32_t mask) noexcept {
    Growth& g = growth();
    const std::uint32_t enough = std::max<std::uint32_t>((mask + 1) / 4, 1);
    // relaxed, both: a count for a guess.
    if (mask >= whole().mask || g.collisions.fetch_add(1, relaxed) + 1 < enough) return false;
    g.collisions.store(0, relaxed);
    // relaxed: the loads are ordered. Fails if another thread was faster.
    std::uint32_t seen = mask;
    g.mask.compare_exchange(seen, 2 * mask + 1, relaxed);
    return true;
  }
};

template <Platform P, WaitPolicy<P> W>
struct GrowingSlots : TableSlots<P, W, GrowingTable<P>> {
  static bool prepare() noexcept {
    GrowingTable<P>::prepare();
    return true;
  }
  template <class Frame>
  [[gnu::always_inline]] static std::uint32_t fill(const Frame& f) noexcept {
    return fill_in(f, GrowingTable<P>::of(f));
  }
  template <class Frame>
  static std::uint32_t fill_elsewhere(const Frame& f) noexcept {
    const ReadersTable<P> before = GrowingTable<P>::of(f);
    return GrowingTable<P>::collided(before.mask) ? fill_in(f, GrowingTable<P>::of(f)) : 0;
  }

 private:
  // A thread caches where a key is. At each size it must look for another place.
  template <class Frame>
  [[gnu::always_inline]] static std::uint32_t fill_in(const Frame& f,
                                                      const ReadersTable<P>& table) noexcept {
    const std::uint64_t of_size = table.mask ^ GrowingTable<P>::first_mask();
    // The mask, because the cached place may be in a table of another size.
    return fill_at<P>(table, (table.token_of(f.key() ^ of_size) - 1) & table.mask, f);
  }
};

}  // namespace lockswap::variants
