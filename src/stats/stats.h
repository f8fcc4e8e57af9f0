// Counts what locks do (LOCKSWAP_STATS). At start-up, this selects a second instance of each lock's
// fast stages; the first one has no code for counting. Slow stages are compiled once, and check a
// flag.
//
// Each thread counts in its own block, for a few locks at a time. It hands counts off to a table of
// all locks when a place in the block is needed for another lock, and when the thread ends. A
// report (report/report.h) reads both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/events.h"

namespace lockswap {

class CountInTable {
 public:
  static constexpr bool kCounts = true;
  using Slow = CountInTable;
  static bool is_on() noexcept { return is_on_; }
  static void on(const void* lock, Event event, std::uint64_t n = 1) noexcept {
    if (is_on()) [[unlikely]]
      add(lock, event, n);
  }

 private:
  friend bool prepare_stats() noexcept;
  static void add(const void* lock, Event event, std::uint64_t n) noexcept;
  static inline constinit bool is_on_ = false;  // set at start-up
};

// The counter of locks that count nothing. Its slow stages are shared with locks that count.
struct Uncounted : CountNothing {
  using Slow = CountInTable;
};

// Called at start-up. Returns false if there is no memory for the counts.
bool prepare_stats() noexcept;
// Called in a forked child, whose counts start at 0.
void reset_stats() noexcept;

}  // namespace lockswap
