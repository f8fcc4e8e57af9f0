// What both measurements of lockswap-measure share: pinning, a clock, medians.
#pragma once

#include <cstdint>
#include <vector>

namespace lockswap::measure {

// What several rounds came to, in nanoseconds. A round in which the processor was taken away is an
// outlier, which moves no quartile as long as most rounds were left alone.
struct Spread {
  double median = 0;
  double low = 0;  // the quartiles
  double high = 0;

  static Spread of(std::vector<double> rounds);
};

// Confines the calling thread to one processor. Returns false if the kernel refuses.
bool pin_to(int processor);

double now_ns();

}  // namespace lockswap::measure
