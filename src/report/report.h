// Reports of what locks did (LOCKSWAP_STATS).
#pragma once

#include <cstddef>

#include "config/config.h"

namespace lockswap {

// An object of the process whose rwlock calls do not come to this library (interpose/bypasses.h).
struct Bypass {
  char object[240];  // its file
  const char* how;
};
struct Bypasses {
  static constexpr std::size_t kMost = 8;
  Bypass first[kMost];  // the first of them
  std::size_t count;
};

// Reports what has been counted until now: a summary on stderr, or JSON in a file (config.stats),
// which is written anew each time. Two threads take turns. The function is async-signal-safe; in a
// handler that interrupts a report of the same thread it does nothing. `bypasses` is nullptr if no
// search for bypasses was made. A process that called no lock function writes nothing, unless its
// parent was started without LOCKSWAP_STATS: then it is the process that the user asked about.
void report_stats(const Config& config, const Bypasses* bypasses) noexcept;
// At exit, without LOCKSWAP_STATS: a line on stderr, if there are any.
void report_bypasses(const Bypasses& bypasses) noexcept;

}  // namespace lockswap
