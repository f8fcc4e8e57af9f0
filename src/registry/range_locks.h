// The registry of range locks: names, and what runs behind them.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "ops/range_frame.h"
#include "reclaim/pools.h"

namespace lockswap {

struct RangeLockInfo {
  const char* name;
  const char* summary;
  const char* source;  // paper and section
  const char* fairness;
  bool of_rwlocks;  // ":NAME" may follow: the reader-writer lock that it is made of
  RangeOptions takes;
};

// A word that may follow a range lock's name, behind ':'.
struct RangeWord {
  const char* name;
  bool RangeOptions::*option;  // which the lock must take
  std::uint32_t bit;           // of a kind
  bool sets;                   // whether the word sets or clears it
};
inline constexpr RangeWord kRangeWords[] = {
    {"writers-first", &RangeOptions::writers_first, RangeKind::kWritersFirst, true},
    {"unfair", &RangeOptions::fair, RangeKind::kFair, false},
};

struct RangeLocks {
  const RangeLockInfo* rows;
  int count;
};
RangeLocks range_locks() noexcept;

// The kind of that name, in whichever case, with the options that words behind it choose; 0: there
// is none.
std::uint32_t find_range_lock(const char* name) noexcept;

// What the configuration has chosen. It is written once, at start-up; locks are bound to it later.
struct ActiveRange {
  const RangeOps* ops;  // by number - 1
  std::uint32_t default_kind;
};
extern ActiveRange active_range;

// Runs at start-up, when system_rwlock is filled in. Returns nullptr, or in one line why it cannot
// be done.
const char* prepare_range(const Config& config) noexcept;
// Must be called before locks of that kind are made, by any thread, any number of times. It returns
// what prepare_range does.
const char* make_ready(std::uint32_t kind) noexcept;
// Called in a forked child.
void range_forked() noexcept;
PoolCounts range_counts() noexcept;

}  // namespace lockswap
