// Counters for monitoring: LOCKSWAP_METRICS.
#pragma once

#include "metrics/file.h"
#include "recording/modules.h"

namespace lockswap::metrics {

// Called once at start-up, when all tables are filled in. Returns false if nothing can be counted
// in the folder; recording::file_error() says why.
bool begin(const char* folder, const Running& running,
           const recording::ModuleFunctions& functions) noexcept;

// Called in a forked child, and at the end. They do nothing without LOCKSWAP_METRICS.
void forked() noexcept;
void end() noexcept;

}  // namespace lockswap::metrics
