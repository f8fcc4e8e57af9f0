// The rate of the processor's counter, measured against a clock by a thread that may be preempted.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockswap {

// A counter and a clock that were read together: the counter's value is right to within half of
// `width`, in ticks.
struct ReadTogether {
  std::uint64_t ns;
  std::uint64_t ticks;
  std::uint64_t width;
};

// A thread that is preempted between two reads has a pair that doesn't belong together, and doesn't
// notice. So the clock is read between two reads of the counter, some times, and the reading with
// the least time between these two counts. `clock` returns nanoseconds, `counter` ticks.
template <class Clock, class Counter>
ReadTogether read_together(Clock clock, Counter counter) noexcept {
  constexpr int kReadings = 5;
  ReadTogether best{0, 0, ~std::uint64_t{0}};
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = counter(), ns = clock(), width = counter() - before;
    if (width < best.width) best = {ns, before + width / 2, width};
  }
  return best;
}

// Returns the nanoseconds of a tick times 2^shift, to within 1%, or 0 if they can't be measured.
// Waits at least `least_ns`, and longer where reading takes long or is disturbed.
template <class Clock, class Counter>
std::uint64_t measure_ns_per_tick(Clock clock, Counter counter, std::uint64_t least_ns,
                                  unsigned shift) noexcept {
  constexpr std::uint64_t kPart = 100, kMostWaits = 8;
  const ReadTogether begin = read_together(clock, counter);
  for (std::uint64_t i = 0; i < kMostWaits; ++i) {
    const std::uint64_t until = begin.ns + (least_ns << i);
    while (clock() < until) {}
    const ReadTogether end = read_together(clock, counter);
    const std::uint64_t width = std::max(begin.width, end.width);
    if (end.ticks <= begin.ticks || width > (end.ticks - begin.ticks) / kPart) continue;
    // A process may be stopped meanwhile, for hours.
    const auto ns = static_cast<unsigned __int128>(end.ns - begin.ns);
    return static_cast<std::uint64_t>((ns << shift) / (end.ticks - begin.ticks));
  }
  return 0;
}

}  // namespace lockswap
