// Which call mapped what: ranges of pages by the call that made them. Unlike regions, two that are
// beside each other stay two, so it shows where in its mapping an operation is.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <map>

namespace bench {

// Where an operation that changes the number of regions takes place.
enum class Part : std::uint8_t {
  loaded,   // in a file's pages, or in what execve mapped
  top,      // the end of a mapping that no access was allowed to, without its first pages: so a
            // thread's stack is made over its guard pages
  bottom,   // the begin of such a mapping, without its last pages: so a heap of malloc grows
  joined,   // all of a region, which becomes one with a neighbour: so a heap is full
  other,    // elsewhere in one region
  several,  // not in one region
};
inline constexpr std::size_t kParts = 6;
using Parts = std::array<std::uint64_t, kParts>;

class Mappings {
 public:
  void put(std::uint64_t start, std::uint64_t end, bool loaded) {
    remove(start, end);
    all_.emplace(start, Mapping{end, loaded});
  }
  void remove(std::uint64_t start, std::uint64_t end) {
    cut(start);
    cut(end);
    all_.erase(all_.lower_bound(start), all_.lower_bound(end));
  }
  // For an operation in the region [low, high). `open`: an access was allowed there.
  Part part(std::uint64_t start, std::uint64_t end, std::uint64_t low, std::uint64_t high,
            bool open) const {
    const Part otherwise = start == low && end == high ? Part::joined : Part::other;
    auto i = all_.upper_bound(start);
    if (i == all_.begin()) return otherwise;  // brk's
    --i;
    const std::uint64_t first = i->first;
    const std::uint64_t last = i->second.end;
    if (start >= last) return otherwise;
    if (i->second.loaded) return Part::loaded;
    if (open || low > first || high < last) return otherwise;
    if (first < start && end == last) return Part::top;
    if (first == start && end < last) return Part::bottom;
    return otherwise;
  }

 private:
  struct Mapping {
    std::uint64_t end;
    bool loaded;
  };
  // No mapping goes across `at` then.
  void cut(std::uint64_t at) {
    auto i = all_.lower_bound(at);
    if (i == all_.begin()) return;
    --i;
    if (i->second.end <= at) return;
    all_.emplace_hint(std::next(i), at, i->second);
    i->second.end = at;
  }
  std::map<std::uint64_t, Mapping> all_;  // by their starts
};

}  // namespace bench
