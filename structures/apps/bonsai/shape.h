// What is there at the end of a run of bonsai. Each structure that it measures has
//   Hand                    of a thread; made by the main thread
//   attach()                in the thread itself, before its first operation
//   contains, insert, erase (hand, key)
//   shape()                 when no thread is in an operation
#pragma once

#include <cstdint>

namespace bench {

struct Shape {
  std::uint64_t regions = 0;
  int height = 0;      // 0: not known
  double garbage = 0;  // nodes that an update leaves to a grace period
};

}  // namespace bench
