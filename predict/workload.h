// What the threads of a prediction do.
#pragma once

#include <cstdint>
#include <string>

#include "multicore/cost/machine.h"
#include "predict/lock.h"
#include "predict/operated.h"

namespace lockswap::predict {

// The part of an array that a thread takes at once (apps/arrbench.cpp).
enum class Ranges : std::uint8_t { full, disjoint, random };

// Threads that repeatedly take a lock, or use a structure.
struct Workload {
  double write_share = 0;         // share of the acquisitions
  double inside = 0;              // work in a critical section, in nanoseconds
  double outside = 0;             // work after it
  bool varies = false;            // the work outside is random, between 0 and twice that
  int lines = 1;                  // of data that a critical section reads or changes
  bool ring = false;              // each thread takes the lock after the one before has had it
  int locks = 1;                  // each acquisition takes one of these at random
  bool own = false;               // each thread has its own lock
  int writers = 0;                // if not 0, the first `writers` threads write, and no others do
  double outside_of_writers = 0;  // their work
  Ranges ranges = Ranges::full;   // in a range lock's array
  std::string program = "wrmem";  // of an address space's threads (structures/apps/address_space)
  std::string memory = "arenas";  // where that program allocates
  double mapping = 0;             // the share of time in which one of them maps
  int items = 0, buckets = 1;     // in a set
};

struct Outcome {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  double ns = 0;            // the time for these operations
  std::uint64_t least = 0;  // operations of the thread that did the fewest
  std::uint64_t most = 0;
  double deviation = 0;  // the standard deviation of threads' operations, as a share of their mean
  cost::Counts counts;   // in that time
};

// Runs it for this many nanoseconds of virtual time, of which the first fifth is for warming up.
Outcome run(const cost::Costs& costs, const NamedLock& lock, const Workload& workload, int threads,
            double ns);
Outcome run(const cost::Costs& costs, Operated& operated, const Workload& workload, int threads,
            double ns);

}  // namespace lockswap::predict
