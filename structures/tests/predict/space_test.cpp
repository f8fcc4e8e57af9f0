// Address spaces on the modelled machine: threads are in the middle of their programs when a run
// begins, so that a short run has the mix of operations that a long one has.
#include "../../predict/space.h"

#include <gtest/gtest.h>

#include "address_space/designs.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

Outcome outcome(const char* program, double ns, std::uint64_t seed = 1) {
  ModelledSpace<address_space::ListRefined> space;
  const Workload w{.program = program};
  cost::Costs costs = even_machine(4);
  costs.seed = seed;
  return run(costs, space, w, 4, ns);
}

struct Mix {
  std::uint64_t faults = 0, mappings = 0;
  void add(const Outcome& o) {
    faults += o.reads;
    mappings += o.writes;
  }
  double share_of_mappings() const {
    return static_cast<double>(mappings) / static_cast<double>(faults + mappings);
  }
};

// The mean of some runs: in each, the four threads are in four places of their programs, and the
// third of a round of `wrmem` that writes its input maps nothing.
TEST(Spaces, AShortRunHasTheMixOfALongOne) {
  for (const char* program : {"wr", "wrmem", "psearchy"}) {
    Mix one, other;
    for (std::uint64_t seed = 1; seed <= 30; ++seed)
      one.add(outcome(program, 2e5, seed));
    other.add(outcome(program, 4e6));
    EXPECT_LT(one.share_of_mappings(), 1.3 * other.share_of_mappings()) << program;
    EXPECT_GT(one.share_of_mappings(), other.share_of_mappings() / 1.3) << program;
  }
}

// Threads are in different places.
TEST(Spaces, NotAllThreadsMapAtTheSameTime) {
  const Outcome o = outcome("dedup", 3e5);
  EXPECT_GT(o.reads, o.writes);
  EXPECT_LT(o.writes, 4u * 4);
}

}  // namespace
}  // namespace lockswap::predict
