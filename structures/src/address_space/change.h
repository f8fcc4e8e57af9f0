// What an operation and a design say to each other. The design takes its locks and calls the
// operation with what they allow; the operation does all of its work, or nothing.
#pragma once

#include <array>
#include <cstdint>

namespace lockswap::address_space {

enum class Change : std::uint8_t { map, unmap, protect, discard, brk, grow, fork };
inline constexpr std::size_t kChanges = 7;

struct Allowed {
  bool structure;  // regions may come and go; else bounds and protections change in place
  std::uint64_t first, last;  // no fault is at these pages: tables that have no others may go
};

// The last two: nothing was done, since it would change the structure, or since what the locks were
// chosen by has changed.
enum class Tried : std::uint8_t { done, structural, moved };

// How the tries of one thread went that had less than the whole lock.
struct Attempts {
  struct Count {
    std::uint64_t speculated = 0;  // done so
    std::uint64_t structural = 0;
    std::uint64_t spread = 0;    // not in one region: not tried
    std::uint64_t restarts = 0;  // moved, and tried again
  };
  std::array<Count, kChanges> counts;
  Count& operator[](Change c) { return counts[static_cast<std::size_t>(c)]; }
  const Count& operator[](Change c) const { return counts[static_cast<std::size_t>(c)]; }
};

}  // namespace lockswap::address_space
