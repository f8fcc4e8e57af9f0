// A peer: a type of lock with the benchmarks compiled for it. Each file beside this one registers
// those of a library, and a library that is not there is left out.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/back_to_back.h"
#include "common/crew.h"
#include "memory.h"

namespace peers {

// What the command line asks for.
struct Task {
  bench::Plan plan;
  double writes = 0;  // share of acquisitions
  bench::Steps steps;
  int entries = 10'000;  // of the cache and the map
  int places = 64;       // of the queue
};

// What a lock is documented to do. Where a type says it to the compiler, its file checks that.
struct Promises {
  bool sleeps = false;      // a thread that waits long gives its processor away
  bool timed = false;       // an acquisition may have a deadline
  bool recursive = false;   // a reader may read again while a writer waits; the holder of a mutex
                            // has a recursive kind
  bool any_thread = false;  // another thread may release it
};

struct Peer {
  using Run = void (*)(const Task&);

  std::string name;  // for --lock
  std::string type;  // as its library calls it
  Promises promises;
  bool shared = false;          // readers hold it together
  bool has_conditions = false;  // condition variables wait with it
  std::size_t bytes = 0;
  std::size_t seat_bytes = 0;  // of each thread that takes it, beside the lock
  Footprint (*footprint)() = nullptr;
  std::map<std::string, Run> works;
};

// Those that are compiled in.
std::vector<Peer>& all() noexcept;

}  // namespace peers
