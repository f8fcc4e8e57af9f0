// From recorded calls to what threads of the model do.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/reading.h"
#include "predict/replay.h"

namespace lockswap::predict {

// A part of the recording: the window `number` of `count`, which lie evenly over all of it, each
// with that many acquisitions.
struct Window {
  std::uint32_t number = 0, count = 1;
  std::uint64_t acquisitions = ~std::uint64_t{0};
};

class Planner {
 public:
  explicit Planner(const calls::RecordedCalls& recorded);
  Plan plan(const Window& window) const;

 private:
  struct Acquisition {
    std::uint64_t at, end;
    bool operator<(const Acquisition& other) const { return at < other.at; }
  };
  const calls::RecordedCalls& recorded_;
  std::vector<Acquisition> every_;  // in the order of time
};

}  // namespace lockswap::predict
