// Converts recorded calls to the actions of the model's threads.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/reading.h"
#include "predict/replay.h"

namespace lockswap::predict {

// A part of the recording: window `number` of `count`, each with the same number of acquisitions,
// which begin at even distances. From its beginning, each thread is given the same amount of its
// own time, in which it works, sleeps or waits for conditions, however long it waits for locks and
// processors. So a window has all threads, even if a few processors ran them one after another.
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
  std::vector<std::uint64_t> begins_;  // of all acquisitions, sorted
};

}  // namespace lockswap::predict
