// A modelled machine on which all processors are equally far from each other.
#pragma once

#include <cstddef>

#include "multicore/cost/machine.h"

namespace lockswap::predict {

// transfer: nanoseconds that a line takes from one processor to another.
inline cost::Costs even_machine(int processors, double transfer = 50) {
  cost::Costs c;
  for (int i = 0; i < processors; ++i)
    c.place.push_back({i, 0});
  c.transfer.assign(static_cast<std::size_t>(processors) * static_cast<std::size_t>(processors),
                    transfer);
  return c;
}

}  // namespace lockswap::predict
