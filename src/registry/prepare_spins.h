// Sets how long threads spin, by the configuration and the process's processors.
#pragma once

#include "config/config.h"
#include "platform/native.h"
#include "platform/processors.h"

namespace lockswap {

// Called once at start-up. Without `again` no file is kept open, because few programs use those
// locks.
inline void prepare_spins(const Config& config, bool again = true) noexcept {
  again = again && config.spin != 0;
  Native::set_most_pauses(config.spin, processors_at_start(again),
                          again ? processors_again : nullptr);
}

}  // namespace lockswap
