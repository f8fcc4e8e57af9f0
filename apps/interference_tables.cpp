#include "interference_tables.h"

#include <new>

#include "locks/rw/ba.h"
#include "locks/rw/bravo.h"
#include "ops/rw_ops.h"
#include "platform/memory.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "wait/park.h"

namespace bench {
namespace {

using namespace lockswap;

using Table = ReadersTable<Native>;
static_assert(sizeof(Table) == sizeof PooledLock::table);

// Where BRAVO finds a lock's table: beside the lock.
struct TableBesideLock {
  template <class Frame>
  static const Table& of(const Frame& f) noexcept {
    // The frame is a PooledLock's first member.
    return *std::launder(
        reinterpret_cast<const Table*>(reinterpret_cast<const PooledLock*>(&f)->table));
  }
};

using Core = Ba<Native, Park<Native>>;
using Slots = TableSlots<Native, Park<Native>, TableBesideLock>;
using Lock = Bravo<Native, Park<Native>, Core, CountNothing, Slots>;
using Contract = RwContract<Native, Park<Native>, Lock, CountNothing>;

}  // namespace

Calls compiled_in_bravo(std::vector<PooledLock>& pool, std::uint32_t slots, bool private_tables) {
  const std::size_t tables = private_tables ? pool.size() : 1;
  auto* const memory = static_cast<Table::Slot*>(map_pages(tables * slots * sizeof(Table::Slot)));
  if (memory == nullptr || !Contract::prepare()) return {nullptr, nullptr};
  prepare_scan();
  for (std::size_t i = 0; i < pool.size(); ++i) {
    auto* const table = new (pool[i].table) Table{};
    table->slots = memory + (private_tables ? i * slots : 0);
    table->mask = slots - 1;
    table->guard = 9;
  }
  const RwOps& ops = RwLockOps<Contract, CountNothing>::table;
  return {ops.rdlock, ops.unlock};
}

}  // namespace bench
