// How many instructions a pair takes: counted in a child, one instruction at a time, so the number
// is the same in every run, and needs no counters of the processor.
#pragma once

#include <functional>
#include <optional>

#include "common/one_thread.h"

namespace bench {

// Returns the instructions of a pair, and of the loop around it. `prepare` is called first, in the
// child. Returns nothing, and sets errno, if the kernel doesn't let a process trace its child.
std::optional<double> instructions_of_pair(Loop& loop, const std::function<void()>& prepare);

}  // namespace bench
