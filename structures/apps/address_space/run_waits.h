// The phase of `address_space` that times each acquisition of a lock: it is a translation unit of
// its own, since it has each design once more.
#pragma once

#include <string>

#include "address_space/options.h"
#include "address_space/program.h"
#include "address_space/trace.h"
#include "common/crew.h"

namespace bench {

// For plan.seconds; a trace, if there is one. Prints the lines of timed.h.
void run_waits(const std::string& design, const Plan& plan, const Work& work, const Trace* trace,
               const SpaceOptions& options);

}  // namespace bench
