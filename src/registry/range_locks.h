// The registry of range locks: names, and the code for each.
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
  bool of_rwlocks;  // ":NAME" may follow: the reader-writer lock inside
  RangeOptions takes;
};

// A word that may follow a range lock's name after a ':'.
struct RangeWord {
  const char* name;
  bool RangeOptions::*option;  // the lock must take this option
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

// Returns the kind for that name, with the options of the words after it, or 0 if there is none.
// Case does not matter.
std::uint32_t find_range_lock(const char* name) noexcept;

// The configuration's choice. Written once at start-up; locks are bound to it later.
struct ActiveRange {
  const RangeOps* ops;  // indexed by number - 1
  std::uint32_t default_kind;
};
extern ActiveRange active_range;

// Called at start-up, when system_rwlock is filled in. Returns nullptr, or the reason for a failure
// in one line.
const char* prepare_range(const Config& config) noexcept;
// Must be called before locks of that kind are made, by any thread and any number of times. Returns
// the same as prepare_range.
const char* make_ready(std::uint32_t kind) noexcept;
// Called in a forked child.
void range_forked() noexcept;
PoolCounts range_counts() noexcept;

}  // namespace lockswap
