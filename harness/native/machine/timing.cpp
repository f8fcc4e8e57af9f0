#include "timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <sched.h>

namespace lockswap::measure {

Spread Spread::of(std::vector<double> rounds) {
  std::sort(rounds.begin(), rounds.end());
  const auto at = [&rounds](double share) {
    return rounds[static_cast<std::size_t>(
        std::lround(share * static_cast<double>(rounds.size() - 1)))];
  };
  return {at(0.5), at(0.25), at(0.75)};
}

bool pin_to(int processor) {
  // Larger than cpu_set_t, which ends at 1024 processors.
  constexpr int kMost = 1 << 14;
  if (processor < 0 || processor >= kMost) return false;
  cpu_set_t* set = CPU_ALLOC(kMost);
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMost);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<std::size_t>(processor), bytes, set);
  const bool done = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return done;
}

double now_ns() {
  const auto passed = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(passed).count();
}

}  // namespace lockswap::measure
