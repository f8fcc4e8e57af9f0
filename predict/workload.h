// What the threads of a prediction do.
#pragma once

#include <cstdint>
#include <string>

#include "multicore/cost/machine.h"
#include "predict/lock.h"

namespace lockswap::predict {

// Threads that take one lock again and again.
struct Workload {
  double write_share = 0;  // of the acquisitions
  double inside = 0;       // work in a section, in nanoseconds
  double outside = 0;      // work after it
  bool varies = false;     // the work outside is drawn between 0 and twice that
  int lines = 1;           // of data that a section reads, or changes
  bool ring =
      false;  // a thread takes the lock when the one before it has had it: BRAVO's alternator
};

struct Outcome {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  double ns = 0;            // in which they were done
  std::uint64_t least = 0;  // operations of the thread that did the fewest
  std::uint64_t most = 0;
  cost::Counts counts;  // in that time
};

// Runs it for so many nanoseconds of virtual time, of which the first fifth is to warm up.
Outcome run(const cost::Costs& costs, Lock& lock, const Workload& workload, int threads, double ns);

}  // namespace lockswap::predict
