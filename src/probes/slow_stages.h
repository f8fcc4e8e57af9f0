// The same stages as those of slow_probes.h, for the library's own counters (LOCKSWAP_METRICS).
#pragma once

#include <cstdint>

#include "probes/slow_probes.h"

namespace lockswap::probes {

// The times are of Ticks.
struct SlowStage {
  Slow what;
  const void* object;
  std::uint64_t begin, end;
  const void* caller;
};

// Called at the end of each; nullptr: nobody asks. Set at start-up.
using OnSlowStage = void (*)(const SlowStage& stage) noexcept;
inline constinit OnSlowStage on_slow_stage = nullptr;

}  // namespace lockswap::probes
