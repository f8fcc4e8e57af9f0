// parse_calls_plan FILE: makes plans of a record of lock calls, as a replay does, and checks them.
#include "predict/plan.h"

#include <cstdio>
#include <set>

using namespace lockswap;
using predict::Plan;
using predict::Step;

// Returns whether each thread releases what it has acquired, and nothing else.
static bool is_whole(const Plan& plan) {
  for (const auto& thread : plan.threads) {
    std::set<std::uint32_t> held;
    for (const Step& step : thread) {
      const bool acquires = step.kind == Step::Kind::lock || step.kind == Step::Kind::read ||
                            step.kind == Step::Kind::write;
      if (step.ns < 0 || (acquires && step.of >= plan.is_rwlock.size())) return false;
      if (acquires && !held.insert(step.of).second) return false;
      if (step.kind == Step::Kind::unlock && held.erase(step.of) == 0) return false;
    }
    if (!held.empty()) return false;
  }
  return true;
}

int main(int, char** argv) {
  calls::RecordedCalls recorded;
  if (recorded.read(argv[1]) != recording::RecordedFile::good) return 2;
  const predict::Planner planner(recorded);
  for (const predict::Window& window :
       {predict::Window{}, predict::Window{0, 3, 20}, predict::Window{2, 3, 20}}) {
    if (!is_whole(planner.plan(window))) {
      std::fprintf(stderr, "a thread's acquisitions and releases don't go together\n");
      return 1;
    }
  }
  return 0;
}
