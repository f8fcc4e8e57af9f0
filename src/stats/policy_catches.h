// What the rules of a policy matched, for LOCKSWAP_STATS: objects by rule and kind, and by the
// place where they were initialised or first used. An object counts only once, so all threads share
// these counters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/policy.h"
#include "platform/atomic.h"

namespace lockswap {

// A place, a rule and a kind of object.
struct Catch {
  static constexpr std::size_t kLongestFile = 95;  // the end of a longer path
  // `key` is stored first. Another thread may count here while the first one still fills in the
  // rest, so `filled` says when that is done.
  NativeAtomic<std::uint64_t> key;
  NativeAtomic<std::uint64_t> count;
  NativeAtomic<std::uint32_t> filled;
  std::uint64_t address;
  std::int32_t rule;  // -1: none
  ObjectKind kind;
  char file[kLongestFile + 1];  // "": unknown
};

struct Catches {
  static constexpr std::size_t kMost = 1024;
  // By rule (the last for objects that no rule matched) and by kind.
  NativeAtomic<std::uint64_t> objects[Policy::kMostRules + 1][kObjectKinds];
  // Objects whose place did not fit into the table.
  NativeAtomic<std::uint64_t> dropped;
  Catch places[kMost];

  std::uint64_t of(int rule, ObjectKind kind) const noexcept {
    const int row = rule < 0 ? Policy::kMostRules : rule;
    return objects[row][static_cast<std::size_t>(kind)].load(relaxed);  // relaxed: a count
  }
};

bool prepare_catches() noexcept;
void count_catch(ObjectKind kind, const CallSite& site, const void* caller) noexcept;
// Returns nullptr if nothing is counted.
const Catches* catches() noexcept;
// Called in a forked child, whose counts start at 0.
void reset_catches() noexcept;

}  // namespace lockswap
