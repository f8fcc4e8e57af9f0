// Counting what locks do (LOCKSWAP_STATS). Chosen at start-up as a second instance of each lock, so
// that without it the locks carry no trace of it.
//
// Each thread counts in a block of its own, a few locks at a time, and hands off to a table of all
// locks when a block's place is needed for another lock, and when the thread ends. A report
// (report/report.h) reads both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/events.h"

namespace lockswap {

struct CountInTable {
  static void on(const void* lock, Event event, std::uint64_t n = 1) noexcept;
};

// Called at start-up. Returns false if there is no memory for the counts.
bool prepare_stats() noexcept;
// Called in a forked child, whose counts begin at 0.
void reset_stats() noexcept;

}  // namespace lockswap
