// What one thread's updates of one map cost by themselves, apart from processes: for ldubench.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

// How long a look takes that must see so many updates at first, in microseconds: inserts; inserts
// that were all taken back. The log's limit is as large as it must be for that.
struct LateRead {
  double inserts = 0;
  double absorbed = 0;
};
struct LateKind {
  std::string name;
  LateRead (*read)(std::size_t updates);
};
std::vector<LateKind> late_kinds();

// So many inserts of distinct objects, which were made before, and the look that sees them all: in
// seconds. The first is LDU by threads' logs; the last, direct inserts under a mutex.
struct BatchKind {
  std::string name;
  double (*insert)(std::size_t objects);
};
std::vector<BatchKind> batch_kinds();

}  // namespace bench
