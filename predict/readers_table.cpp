#include "multicore/cost/platform.h"
#include "predict/rw_locks.h"

namespace lockswap::predict {

void prepare_readers_table() {
  // The library's defaults: LOCKSWAP_BRAVO_SLOTS and LOCKSWAP_BRAVO_N.
  constexpr std::uint32_t kSlots = 4096, kGuard = 9;
  using Table = ReadersTable<Modelled>;
  Table& table = Modelled::global<Table>();
  if (table.slots != nullptr) return;
  table.slots = static_cast<Table::Slot*>(cost::zeroed(kSlots * sizeof(Table::Slot)));
  table.mask = kSlots - 1;
  table.guard = kGuard;
  constexpr std::uint64_t kNobody = 2;
  const std::uint64_t start = Modelled::now();
  Modelled::scan(table.slots, kSlots, kNobody, [](std::size_t) { return true; });
  Modelled::global<ScanCost>().ns = Modelled::now() - start;
}

}  // namespace lockswap::predict
