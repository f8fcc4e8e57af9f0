// Reports of the statistics (LOCKSWAP_STATS).
#pragma once

#include <cstddef>

#include "config/config.h"

namespace lockswap {

// An object in this process whose rwlock calls bypass this library (interpose/bypasses.h).
struct Bypass {
  char object[240];  // its file's name
  const char* how;
};
struct Bypasses {
  static constexpr std::size_t kMost = 8;
  Bypass first[kMost];  // the first kMost
  std::size_t count;
};

// Reports what has been counted so far: a summary on stderr, or JSON in a file (config.stats),
// which is overwritten each time. Two threads take turns. Async-signal-safe; does nothing in a
// handler that interrupts a report of the same thread. `bypasses` is nullptr if nobody has searched
// for bypasses. A process that has called no lock function writes nothing, unless its parent was
// started without LOCKSWAP_STATS, because then this process is the one that the user asked about.
void report_stats(const Config& config, const Bypasses* bypasses) noexcept;
// Called at exit without LOCKSWAP_STATS: prints a line on stderr if there are any.
void report_bypasses(const Bypasses& bypasses) noexcept;

}  // namespace lockswap
