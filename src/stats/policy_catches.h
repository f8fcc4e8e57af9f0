// What the rules of a policy caught, for LOCKSWAP_STATS: objects by rule and kind, and by the
// place from which they were initialised or first used. An object counts once, so threads share it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/policy.h"
#include "platform/atomic.h"

namespace lockswap {

// A place, a rule and a kind of object.
struct Catch {
  static constexpr std::size_t kLongestFile = 95;  // the end of a longer path
  // `key` is the first to be set. A thread that comes while another fills the place in may count
  // before: so `filled` says that the rest is there.
  NativeAtomic<std::uint64_t> key;
  NativeAtomic<std::uint64_t> count;
  NativeAtomic<std::uint32_t> filled;
  std::uint64_t address;
  std::int32_t rule;  // -1: none
  ObjectKind kind;
  char file[kLongestFile + 1];  // "": not to be found
};

struct Catches {
  static constexpr std::size_t kMost = 1024;
  // By rule, the last for what no rule caught, and by kind.
  NativeAtomic<std::uint64_t> objects[Policy::kMostRules + 1][kObjectKinds];
  // Objects whose place found no room in the table.
  NativeAtomic<std::uint64_t> dropped;
  Catch places[kMost];

  std::uint64_t of(int rule, ObjectKind kind) const noexcept {
    const int row = rule < 0 ? Policy::kMostRules : rule;
    return objects[row][static_cast<std::size_t>(kind)].load(relaxed);  // a count
  }
};

bool prepare_catches() noexcept;
void count_catch(ObjectKind kind, const CallSite& site, const void* caller) noexcept;
// Returns nullptr if nothing is counted.
const Catches* catches() noexcept;
// Called in a forked child, whose counts begin at 0.
void reset_catches() noexcept;

}  // namespace lockswap
