// From a lock's address to the series in the file that counts it, and what this process knows of
// its locks: in memory that the kernel empties in each child.
#pragma once

#include <cstddef>
#include <cstdint>

#include "metrics/record.h"
#include "recording/process.h"

namespace lockswap::metrics {

// A word for each lock that was seen: its address without the three lowest bits, and the number of
// its series below. No other data hangs on it, so all accesses are relaxed.
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

// The word of a lock that was seen; nullptr: it wasn't, or if it is to be made, has no room.
Object* find_object(const void* lock, bool make) noexcept;

// The number of its series; kUndecided: nobody has asked since the lock began.
inline std::uint32_t series_in(const Object& object) noexcept {
  return static_cast<std::uint32_t>(object.load(relaxed)) & 0xff;
}

// By the stack of this call, unless the lock is a static variable. Unwinding takes microseconds.
std::uint32_t decide(Object& object, const void* lock, Kind kind, const void* caller) noexcept;
// Another lock may come to lie there.
void forget(const void* lock) noexcept;

}  // namespace lockswap::metrics
