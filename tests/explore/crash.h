// What is left when a lock takes the explorer down with it: a wild address, a call without an end,
// a loop that touches no atom.
#pragma once

#include <string>

#include "runner.h"

namespace lockswap::explore {

// While it exists, a crash prints the case, the script of each thread and the choices so far, as a
// line that repeats it; while steps are traced, also those. Then the signal takes its course. Where
// no step is made for some seconds of processor time, that is a crash, too.
class CrashReport {
 public:
  CrashReport(const Case& c, const Bounds& bounds, MemoryModel memory);
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;

  const Case& running;
  const std::string repeat;  // the line, but for the choices
};

}  // namespace lockswap::explore
