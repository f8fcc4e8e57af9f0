// BRAVO whose locks share no readers table, to see what sharing one costs (BRAVO paper, section
// 5.1; apps/interference_tables.cpp does the same on the real machine).
#include <new>

#include "locks/rw/ba.h"
#include "predict/rw_locks.h"

namespace lockswap::predict {

namespace {

using W = Spin<Modelled>;
using Core = Ba<Modelled, W>;
using Table = ReadersTable<Modelled>;

// The table's head stands behind the lock.
struct TableBehindLock {
  template <class Frame>
  static const Table& of(const Frame& f) noexcept {
    return *std::launder(reinterpret_cast<const Table*>(&f + 1));
  }
};
using Slots = TableSlots<Modelled, W, TableBehindLock>;
using Below = Bravo<Modelled, W, Core, CountNothing, Slots>;

class WithOwnTable final : public ContractedRwlock<W, Below> {
 public:
  void begin() override {
    prepare_readers_table();
    struct Together {
      Frame frame;
      Table table;
    };
    static_assert(sizeof(Frame) % alignof(Table) == 0);  // so nothing is between them
    auto* const both = new (cost::zeroed(sizeof(Together))) Together{};
    both->table = Modelled::global<Table>();
    both->table.slots = static_cast<Table::Slot*>(
        cost::zeroed((both->table.mask + std::size_t{1}) * sizeof(Table::Slot)));
    begin_at(both->frame);
  }
};

}  // namespace

void add_with_own_table(NamedLocks& to) { add<WithOwnTable>(to, "bravo-ba", "own-table"); }

}  // namespace lockswap::predict
