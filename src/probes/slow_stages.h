// The slow stages of mutexes that slow_probes.h has, for the library's own counters
// (LOCKSWAP_METRICS).
#pragma once

#include <cstdint>

namespace lockswap::probes {

// The times are of Ticks.
struct SlowStage {
  const void* mutex;
  std::uint64_t begin, end;
  const void* caller;
};

// Called at the end of each; nullptr: nobody asks. Set at start-up.
using OnSlowStage = void (*)(const SlowStage& stage) noexcept;
inline constinit OnSlowStage on_slow_stage = nullptr;

}  // namespace lockswap::probes
