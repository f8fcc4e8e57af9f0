#include "registry/range_locks.h"

#include <iterator>

#include "platform/native.h"
#include "range/concept.h"
#include "range/list.h"
#include "range/sharded.h"
#include "range/spin_lock.h"
#include "range/tree.h"
#include "registry/range_ops.h"
#include "registry/rwlocks.h"
#include "registry/text.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap {
namespace {

// Each lock whose ranges are nodes: one without a member fails at its own line.
static_assert(RangeLock<RangeList<Native, Park<Native>, false>>);
static_assert(RangeLock<RangeList<Native, Park<Native>, true>>);
static_assert(RangeLock<ShardedRanges<Native, Park<Native>>>);
static_assert(RangeLock<RangeTree<Native, Park<Native>, false>>);
static_assert(RangeLock<RangeTree<Native, Park<Native>, true>>);

constexpr RangeLockInfo kRangeLocks[] = {
    {"list-ex", "a sorted list of held ranges, all of them exclusive",
     "Kogan, Dice, Issa, EuroSys 2020, 4.1",
     "who comes at the right moment; who fails eight times goes first", false},
    {"list-rw", "a sorted list of held ranges, shared and exclusive",
     "Kogan, Dice, Issa, EuroSys 2020, 4.2",
     "the same; readers before writers, or the other way round", false},
    {"sharded-rw", "1024 lists in turn, a segment of the units each, for many held ranges",
     "ours; the lists are list-rw's", "as list-rw", false},
    {"lustre-ex", "a tree of held and waiting ranges under a spin lock, all of them exclusive",
     "the same, section 3, after J. Kara 2013",
     "first come, first served, also behind a waiter that is not in the way", false},
    {"kernel-rw", "a tree of held and waiting ranges under a spin lock, shared and exclusive",
     "the same, section 3, after D. Bueso 2017", "as lustre-ex", false},
    {"pnova-rw", "256 segments in turn, each a reader-writer lock",
     "the same, 7.1, after pNOVA 2019", "that of the reader-writer locks", true},
    {"rwlock", "one reader-writer lock for all units", "what programs without range locks do",
     "that of the reader-writer lock", true},
};
constexpr const char* kDefault = "list-rw";

template <class W>
constexpr RangeOps kOps[] = {
    RangeNodeOps<RangeList<Native, W, false>>::table,
    RangeNodeOps<RangeList<Native, W, true>>::table,
    RangeNodeOps<ShardedRanges<Native, W>>::table,
    RangeNodeOps<RangeTree<Native, W, false>>::table,
    RangeNodeOps<RangeTree<Native, W, true>>::table,
    RangeSegmentOps<ManyRwLocks>::table,
    RangeSegmentOps<OneRwLock>::table,
};
static_assert(std::size(kOps<Park<Native>>) == std::size(kRangeLocks));

// The same for all wait policies.
using ListNodes = RangeList<Native, Park<Native>, true>::Nodes;
using TreeNodes = RangeTree<Native, Park<Native>, true>::Nodes;

// The reader-writer locks inside, by row.
struct Inner {
  SpinLock<Native, Park<Native>> guard;  // of making ready
  Config config;
  NativeAtomic<const RwOps*> ops[kMostRwLocks];
};
constinit Inner inner{};

}  // namespace

constinit ActiveRange active_range{kOps<Park<Native>>, 0};

RangeLocks range_locks() noexcept {
  return {kRangeLocks, static_cast<int>(std::size(kRangeLocks))};
}

std::uint32_t find_range_lock(const char* name) noexcept {
  for (std::uint32_t i = 0; i < std::size(kRangeLocks); ++i) {
    const RangeLockInfo& row = kRangeLocks[i];
    if (same_name(row.name, name)) return i + 1;
    const char* rest = row.of_rwlocks ? after_prefix(name, row.name) : nullptr;
    if (rest == nullptr || *rest != ':') continue;
    const RwLockInfo* lock = find_rwlock(rest + 1);
    if (lock == nullptr) return 0;
    const auto at = static_cast<std::uint32_t>(lock - rwlocks().rows);
    return (i + 1) | at << RangeKind::kInnerShift;
  }
  return 0;
}

const char* prepare_range(const Config& config) noexcept {
  ThreadExit::prepare();
  Native::set_spin_budget(config.spin);
  if (same_name(config.wait, "spin")) active_range.ops = kOps<Spin<Native>>;
  if (same_name(config.wait, "yield")) active_range.ops = kOps<Yield<Native>>;
  inner.config = config;
  const std::uint32_t kind = config.range == 0 ? find_range_lock(kDefault) : config.range;
  default_range_segment = config.range_segment;
  active_range.default_kind = kind | RangeKind::kFair;
  return make_ready(kind);
}

const RwOps& inner_rwlock(std::uint32_t row) noexcept {
  return *inner.ops[row].load(acquire);  // pairs with make_ready()
}

const char* make_ready(std::uint32_t kind) noexcept {
  if (!kRangeLocks[(kind & RangeKind::kNumber) - 1].of_rwlocks) return nullptr;
  const std::uint32_t row = RangeKind::inner(kind);
  const char* why = nullptr;
  inner.guard.lock();
  if (inner.ops[row].load(relaxed) == nullptr) {
    const RwOps* ops = prepare_further_rwlock(rwlocks().rows[row], inner.config, why);
    if (ops != nullptr) inner.ops[row].store(ops, release);  // pairs with inner_rwlock()
  }
  inner.guard.unlock();
  return why;
}

void range_forked() noexcept {
  ListNodes::forked();
  TreeNodes::forked();
}

PoolCounts range_counts() noexcept {
  PoolCounts sum = ListNodes::counts();
  const PoolCounts trees = TreeNodes::counts();
  sum.nodes += trees.nodes;
  sum.growths += trees.growths;
  sum.blocked += trees.blocked;
  sum.supplies += trees.supplies;
  return sum;
}

}  // namespace lockswap
