// The slow stages of mutexes that slow_probes.h reports, for the library's own counters
// (LOCKSWAP_METRICS).
#pragma once

#include <cstdint>

namespace lockswap::probes {

// Times are in Ticks.
struct SlowStage {
  const void* mutex;
  std::uint64_t begin, end;
  const void* caller;
};

// Called at the end of each stage; nullptr if nobody needs it. Set at start-up.
using OnSlowStage = void (*)(const SlowStage& stage) noexcept;
inline constinit OnSlowStage on_slow_stage = nullptr;

}  // namespace lockswap::probes
