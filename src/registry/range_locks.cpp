#include "registry/range_locks.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include "config/auto.h"
#include "locks/common/lock_info.h"
#include "ops/range_ops.h"
#include "platform/latch.h"
#include "platform/native.h"
#include "platform/text.h"
#include "registry/prepare_spins.h"
#include "registry/range_list_headers.h"  // written by lists.cmake
#include "registry/rwlocks.h"
#include "registry/waits.h"
#include "wait/park.h"

namespace lockswap {
namespace {

// A line of range_list.def: its row, and its functions.
struct Line {
  RangeLockInfo info;
  RangeOps ops[WaitTypes::kCount];
};
constexpr RangeLockInfo row(const char* name, const LockInfo& info, bool of_rwlocks,
                            RangeOptions takes) {
  return {name, info.summary, info.source, info.fairness, of_rwlocks, takes};
}
template <template <class, class> class Lock>
constexpr Line line(const char* name) {
  using Parking = Lock<Native, Park<Native>>;
  Line l{.info = row(name, Parking::kInfo, false, Parking::kTakes), .ops = {}};
  WaitTypes::for_each([&]<template <class> class Wait>(std::size_t wait) {
    l.ops[wait] = RangeNodeOps<Lock<Native, Wait<Native>>>::table;
  });
  return l;
}
// The reader-writer locks inside have their own wait policies.
template <class Home>
constexpr Line line_of_rwlocks(const char* name) {
  Line l{.info = row(name, Home::kInfo, true, {.fair = false, .writers_first = false}), .ops = {}};
  for (RangeOps& ops : l.ops)
    ops = RangeSegmentOps<Home>::table;
  return l;
}
constexpr Line kLines[] = {
#define RANGE_LOCK(name, Class, header) line<Class>(name),
#define RANGE_OF_RWLOCKS(name, Class, header) line_of_rwlocks<Class>(name),
#include "registry/range_list.def"
#undef RANGE_LOCK
#undef RANGE_OF_RWLOCKS
};
// As arrays, which users of the rows and of the functions need.
constexpr auto kRangeLocks = [] {
  std::array<RangeLockInfo, std::size(kLines)> rows{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = kLines[i].info;
  return rows;
}();
using AllOps = std::array<RangeOps, std::size(kLines)>;
template <std::size_t kWait>
constexpr AllOps kOps = [] {
  AllOps all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = kLines[i].ops[kWait];
  return all;
}();
constexpr const AllOps* kOpsByWait[] = {&kOps<0>, &kOps<1>};
static_assert(std::size(kOpsByWait) == WaitTypes::kCount);

// Whether a type is different from the others.
template <class T, class... Others>
constexpr bool is_new = !(std::is_same_v<T, Others> || ...);
// Calls f once with each of the types.
template <class... Seen>
struct Distinct {
  template <class F>
  static void each(const F&) {}
  template <class F, class T, class... Rest>
  static void each(const F& f, std::type_identity<T>, Rest... rest) {
    if constexpr (is_new<T, Seen...>) f.template operator()<T>();
    Distinct<Seen..., T>::each(f, rest...);
  }
};
// Calls f with the node pools of each lock. Several locks may share them, and all wait policies do.
template <class F>
void each_pool(const F& f) {
  // NOLINTBEGIN(bugprone-macro-parentheses): a class template cannot stand in parentheses.
  Distinct<>::each(f
#define RANGE_LOCK(name, Class, header) \
  , std::type_identity<typename Class<Native, Park<Native>>::Nodes>{}
#define RANGE_OF_RWLOCKS(name, Class, header)
#include "registry/range_list.def"
#undef RANGE_LOCK
#undef RANGE_OF_RWLOCKS
  );
  // NOLINTEND(bugprone-macro-parentheses)
}

// Returns the word at the beginning of `text` if the lock takes it, and what follows it, or
// nullptr.
const RangeWord* word_at(const char* text, RangeOptions takes, const char*& rest) noexcept {
  for (const RangeWord& word : kRangeWords) {
    rest = after_prefix(text, word.name);
    if (rest != nullptr && (*rest == 0 || *rest == ':') && takes.*word.option) return &word;
  }
  return nullptr;
}
// Returns the kind with the options of the words in `text`, each after a ':', or 0 if there is an
// unknown word.
std::uint32_t with_words(std::uint32_t kind, const char* text, RangeOptions takes) noexcept {
  while (*text == ':') {
    const RangeWord* word = word_at(text + 1, takes, text);
    if (word == nullptr) return 0;
    kind = word->sets ? kind | word->bit : kind & ~word->bit;
  }
  return *text == 0 ? kind : 0;
}
// Returns the kind with the reader-writer lock that `text` names after a ':'.
std::uint32_t with_inner(std::uint32_t kind, const char* text) noexcept {
  if (*text == 0) return kind;
  const RwLockInfo* lock = *text == ':' ? find_rwlock(text + 1) : nullptr;
  if (lock == nullptr) return 0;
  return kind | static_cast<std::uint32_t>(lock - rwlocks().rows) << RangeKind::kInnerShift;
}

// The reader-writer locks inside range locks, by row.
struct Inner {
  Latch latch;  // for making one ready
  Config config;
  NativeAtomic<const RwOps*> ops[kMostRwLocks];
};
constinit Inner inner{};

}  // namespace

constinit ActiveRange active_range{kOpsByWait[wait_type_of("park")]->data(), 0};

RangeLocks range_locks() noexcept {
  return {kRangeLocks.data(), static_cast<int>(kRangeLocks.size())};
}

std::uint32_t find_range_lock(const char* name) noexcept {
  for (std::uint32_t i = 0; i < std::size(kRangeLocks); ++i) {
    const RangeLockInfo& row = kRangeLocks[i];
    const char* rest = after_prefix(name, row.name);
    if (rest == nullptr || (*rest != 0 && *rest != ':')) continue;
    const std::uint32_t kind = (i + 1) | RangeKind::kFair;
    return row.of_rwlocks ? with_inner(kind, rest) : with_words(kind, rest, row.takes);
  }
  return 0;
}

const char* prepare_range(const Config& config) noexcept {
  prepare_spins(config, false);  // after those of swapped locks, if any
  Native::set_hand_off_after(std::uint64_t{config.handover_us} * 1000);
  active_range.ops = kOpsByWait[choose_wait(config.wait)]->data();
  inner.config = config;
  const std::uint32_t kind = config.range == 0 ? find_range_lock(kDefaultRange) : config.range;
  default_range_segment = config.range_segment;
  active_range.default_kind = kind;
  return make_ready(kind);
}

const RwOps& inner_rwlock(std::uint32_t row) noexcept {
  return *inner.ops[row].load(acquire);  // pairs with make_ready()
}

const char* make_ready(std::uint32_t kind) noexcept {
  if (!kRangeLocks[(kind & RangeKind::kNumber) - 1].of_rwlocks) return nullptr;
  const std::uint32_t row = RangeKind::inner(kind);
  const char* why = nullptr;
  // False in a signal handler that interrupts this, and then the following may be done twice.
  const bool is_first = inner.latch.take();
  if (inner.ops[row].load(relaxed) == nullptr) {
    const RwOps* ops = prepare_further_rwlock(rwlocks().rows[row], inner.config, why);
    if (ops != nullptr) inner.ops[row].store(ops, release);  // pairs with inner_rwlock()
  }
  if (is_first) inner.latch.give_back();
  return why;
}

void range_forked() noexcept {
  each_pool([]<class Nodes>() { Nodes::forked(); });
}

PoolCounts range_counts() noexcept {
  PoolCounts sum{};
  each_pool([&sum]<class Nodes>() {
    const PoolCounts c = Nodes::counts();
    sum.nodes += c.nodes;
    sum.growths += c.growths;
    sum.blocked += c.blocked;
    sum.supplies += c.supplies;
  });
  return sum;
}

}  // namespace lockswap
