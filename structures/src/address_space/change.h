// What an operation and a design tell each other. The design takes its locks, and calls the
// operation with what these allow. The operation then does all of its work, or nothing.
#pragma once

#include <array>
#include <cstdint>

namespace lockswap::address_space {

enum class Change : std::uint8_t { map, unmap, protect, discard, brk, grow, fork };
inline constexpr std::size_t kChanges = 7;

struct Allowed {
  // The operation may add and remove regions. Otherwise it may only change bounds and protections
  // in place.
  bool structure;
  std::uint64_t first, last;  // no fault is in these pages, so tables without others may be removed
};

// structural: nothing was done because it would change the structure. moved: nothing was done
// because the locks were chosen by data that has changed.
enum class Tried : std::uint8_t { done, structural, moved };

// How a thread's tries with less than the whole lock ended.
struct Attempts {
  struct Count {
    std::uint64_t speculated = 0;  // done without the whole lock
    std::uint64_t structural = 0;
    std::uint64_t spread = 0;    // not tried, since it spans several regions
    std::uint64_t restarts = 0;  // moved, and tried again
  };
  std::array<Count, kChanges> counts;
  Count& operator[](Change c) { return counts[static_cast<std::size_t>(c)]; }
  const Count& operator[](Change c) const { return counts[static_cast<std::size_t>(c)]; }
};

}  // namespace lockswap::address_space
