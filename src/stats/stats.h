// Counting what locks do (LOCKSWAP_STATS). Chosen at start-up as a second instance of each lock's
// fast stages, which carry no trace of it otherwise. Slow stages are compiled once, and ask.
//
// Each thread counts in a block of its own, a few locks at a time, and hands off to a table of all
// locks when a block's place is needed for another lock, and when the thread ends. A report
// (report/report.h) reads both.
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

// The counter of locks that count nothing: its slow stages are those of the locks that count.
struct Uncounted : CountNothing {
  using Slow = CountInTable;
};

// Called at start-up. Returns false if there is no memory for the counts.
bool prepare_stats() noexcept;
// Called in a forked child, whose counts begin at 0.
void reset_stats() noexcept;

}  // namespace lockswap
