// State that is new in each run of the modelled machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "multicore/cost/machine.h"

namespace lockswap::cost {

// One T for each thread, or one for the process, in its own cache lines.
template <class T, int kCopies>
class PerRun {
 public:
  static T& at(int i) {
    static PerRun copies;
    if (copies.run_ != machine.run_number()) {
      copies.places_ = std::make_unique<Place[]>(kCopies);
      copies.run_ = machine.run_number();
    }
    return copies.places_[static_cast<std::size_t>(i)].value;
  }

 private:
  struct alignas(128) Place {
    T value{};
  };
  std::unique_ptr<Place[]> places_;
  std::uint64_t run_ = 0;
};

}  // namespace lockswap::cost
