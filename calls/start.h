// The record of a program's lock calls: LOCKSWAP_RECORD.
#pragma once

#include <cstdint>

#include "platform/system_mutex.h"

namespace lockswap::calls {

struct Bounds {
  std::uint64_t bytes;     // of the file
  std::uint64_t after_ns;  // from the start of the process to that of the recording
};

// At start-up, by one thread. Returns false if nothing can be recorded in the folder;
// recording::file_error() says why.
bool begin(const char* folder, const Bounds& bounds) noexcept;
// Measures what recording costs.
void calibrate(const MutexOps& recorded, const MutexOps& behind) noexcept;

// In a forked child, and at the end; without LOCKSWAP_RECORD they do nothing.
void forked() noexcept;
void end() noexcept;

}  // namespace lockswap::calls
