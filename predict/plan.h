// From recorded calls to what threads of the model do.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/reading.h"
#include "predict/replay.h"

namespace lockswap::predict {

// A part of the recording: the window `number` of `count`, which begin evenly over all of it, each
// with that many acquisitions. From its begin on each thread has the same time of its own, in which
// it works, sleeps or waits for conditions, however long it waits for locks and processors. So a
// window has all threads, also where a few processors ran them one after another.
struct Window {
  std::uint32_t number = 0, count = 1;
  std::uint64_t acquisitions = ~std::uint64_t{0};
};

class Planner {
 public:
  explicit Planner(const calls::RecordedCalls& recorded);
  Plan plan(const Window& window) const;

 private:
  const calls::RecordedCalls& recorded_;
  std::vector<std::uint64_t> begins_;  // of all acquisitions, in order
};

}  // namespace lockswap::predict
