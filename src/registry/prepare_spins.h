// How long threads spin: from the configuration, and by the processors of the process.
#pragma once

#include "config/config.h"
#include "platform/native.h"
#include "platform/processors.h"

namespace lockswap {

// Called at start-up, by one thread. Without `again` no file is kept open: few programs use those
// locks.
inline void prepare_spins(const Config& config, bool again = true) noexcept {
  again = again && config.spin != 0;
  Native::set_most_pauses(config.spin, processors_at_start(again),
                          again ? processors_again : nullptr);
}

}  // namespace lockswap
