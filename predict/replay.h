// Replays a recorded program's lock calls on the modelled machine: each thread works for as long as
// it did between its calls, and makes the calls on locks of the model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "multicore/cost/machine.h"
#include "predict/lock.h"

namespace lockswap::predict {

struct Step {
  enum class Kind : std::uint8_t {
    work,
    rest,  // off the processor for the recorded time
    lock,
    read,
    write,
    unlock,
    give,   // give a signal that another thread waits for
    await,  // wait for that signal
  };
  Kind kind;
  std::uint32_t of = 0;  // number of a lock or signal in the plan
  double ns = 0;         // of work and rest
};

// What the threads do in a window of the recording. Threads that existed one after another share
// one thread of the plan.
struct Plan {
  std::vector<std::vector<Step>> threads;
  std::vector<bool> is_rwlock;  // for each lock
  std::uint32_t signals = 0;
  // For the reader of a prediction.
  double recorded_ns = 0;
  std::uint64_t acquisitions = 0;
  std::uint64_t timed = 0;  // waits for conditions replayed as rests, since no signal was recorded
  double preempted_ns = 0;  // left out

  // An upper bound on how long the replay takes, unless it hangs.
  double longest() const;
};

// What a replay needs besides the plan.
struct Replay {
  const NamedLock& rwlock;
  const NamedLock& mutex;
  double pace = 1;  // factor for work, compared with the machine of the recording
};

struct ReplayOutcome {
  std::uint64_t acquisitions = 0;
  double ns = 0;  // until all threads were done
  double in_calls_ns = 0;
  double thread_ns = 0;  // until each thread was done, summed
  bool finished = true;  // false: the threads wait for each other
  cost::Counts counts;
};

ReplayOutcome run(const cost::Costs& costs, const Plan& plan, const Replay& replay);

}  // namespace lockswap::predict
