// A workload, or a trace, on a machine that times the acquisitions of its locks (timed.h).
#pragma once

#include "address_space/contest.h"
#include "address_space/replay.h"
#include "address_space/timed.h"

namespace bench {

template <template <class> class Design, class M>
void time_waits(const Plan& plan, const Work& work, const Trace* trace,
                const SpaceOptions& options) {
  using Engine = lockswap::address_space::Space<M, Design>;
  const auto print = [](const Phase& phase) {
    double seconds = 0;
    for (const Share& s : phase)
      seconds += s.seconds;
    print_waits(seconds);
  };
  take_waits();
  if (trace != nullptr) {
    print(replay_for<Engine, false>(*trace, plan.seconds, options).phase);
    return;
  }
  Contest<Engine> contest(work, options);
  print(run_phase(plan, contest.workers(), false, plan.seconds));
  contest.check();
}

}  // namespace bench
