// Records a program's lock calls: LOCKSWAP_RECORD.
#pragma once

#include <cstdint>

#include "platform/system_mutex.h"

namespace lockswap::calls {

struct Bounds {
  std::uint64_t bytes;     // the limit for the file
  std::uint64_t after_ns;  // from the start of the process to that of recording
};

// Called once at start-up. Returns false if nothing can be recorded in the folder;
// recording::file_error() says why.
bool begin(const char* folder, const Bounds& bounds) noexcept;
// Measures what recording costs.
void calibrate(const MutexOps& recorded, const MutexOps& behind) noexcept;

// Called in a forked child, and at the end. They do nothing without LOCKSWAP_RECORD.
void forked() noexcept;
void end() noexcept;

}  // namespace lockswap::calls
