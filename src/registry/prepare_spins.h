// How long threads spin: from the configuration, and by the processors of the process.
#pragma once

#include "platform/native.h"
#include "platform/processors.h"
#include "registry/config.h"

namespace lockswap {

// At start-up, by one thread.
inline void prepare_spins(const Config& config) noexcept {
  const bool spins = config.spin != 0;
  Native::set_most_pauses(config.spin, processors_at_start(spins), processors_again);
}

}  // namespace lockswap
