// `--lock`: the design `rwlock` over a lock of src/variants/list.def, which is compiled in. It is a
// translation unit of its own, because it instantiates the design two more times.
#pragma once

#include <string>

#include "address_space/options.h"
#include "address_space/program.h"
#include "address_space/trace.h"
#include "common/crew.h"

namespace bench {

// Prepares that lock. Returns false if memory is short. Must be called once, before threads run.
bool prepare_compiled_in(const std::string& lock);
// Runs for plan.seconds, and replays `trace` unless it is null.
void run_compiled_in(const Plan& plan, const Work& work, const Trace* trace,
                     const SpaceOptions& options);
// The same for the phase of run_waits.h.
void run_waits_compiled_in(const Plan& plan, const Work& work, const Trace* trace,
                           const SpaceOptions& options);

}  // namespace bench
