// Counting what locks do (LOCKSWAP_STATS). Chosen at start-up as a second instance of each lock, so
// that without it the locks carry no trace of it.
//
// Each thread counts in a block of its own, a few locks at a time, and hands off to a table of all
// locks when a block's place is needed for another lock, and when the thread ends. A report reads
// both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/events.h"
#include "registry/config.h"

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

struct CountInTable {
  static void on(const void* lock, Event event, std::uint64_t n = 1) noexcept;
};

// At start-up. False: no memory for the counts.
bool prepare_stats() noexcept;
// In a forked child: its counts begin at 0.
void reset_stats() noexcept;
// Reports what has been counted until now: a summary on stderr, or JSON in a file (config.stats),
// which is written anew each time. Two threads take turns. The function is async-signal-safe; in a
// handler that interrupts a report of the same thread it does nothing. `bypasses` is nullptr if no
// search for bypasses was made. A process that called no lock function writes nothing, unless its
// parent was started without LOCKSWAP_STATS: then it is the process that the user asked about.
void report_stats(const Config& config, const Bypasses* bypasses) noexcept;
// At exit, without LOCKSWAP_STATS: a line on stderr, if there are any.
void report_bypasses(const Bypasses& bypasses) noexcept;

}  // namespace lockswap
