// Maps a lock's address to the series in the file that counts it. The table is in memory that the
// kernel empties in each child.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metrics/record.h"
#include "recording/process.h"

namespace lockswap::metrics {

// A word for each known lock: its address without the three lowest bits, and below it the number of
// its series. No other data depends on it, so all accesses are relaxed.
using Object = NativeAtomic<std::uint64_t>;
inline constexpr std::size_t kObjects = std::size_t{1} << 16;
inline constexpr std::uint32_t kUndecided = 255;
static_assert(kMostSeries <= kUndecided);

struct World : recording::ProcessState {
  bool records;  // there is a file
  Object objects[kObjects];
};
inline constinit World* the_world = nullptr;
inline World& world() noexcept { return *the_world; }

// Returns the word of a lock, or nullptr if it has none or, with `make`, if there is no room.
Object* find_object(const void* lock, bool make) noexcept;

// Returns the number of its series, or kUndecided if nobody has looked it up since the lock began.
inline std::uint32_t series_in(const Object& object) noexcept {
  return static_cast<std::uint32_t>(object.load(relaxed)) & 0xff;
}

// Decides by the stack of this call, unless the lock is a static variable. Unwinding takes
// microseconds.
std::uint32_t decide(Object& object, const void* lock, Kind kind, const void* caller) noexcept;
// Called when another lock may begin at that address.
void forget(const void* lock) noexcept;

}  // namespace lockswap::metrics
