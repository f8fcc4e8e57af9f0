// Address spaces on the modelled machine: threads are in the middle of their programs when a run
// begins, so that a short run has the mix of operations that a long one has.
#include "../../predict/space.h"

#include <gtest/gtest.h>

#include "address_space/designs.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

Outcome outcome(const char* program, double ns) {
  ModelledSpace<address_space::ListRefined> space;
  const Workload w{.program = program};
  return run(even_machine(4), space, w, 4, ns);
}
double share_of_mappings(const Outcome& o) {
  return static_cast<double>(o.writes) / static_cast<double>(o.reads + o.writes);
}

TEST(Spaces, AShortRunHasTheMixOfALongOne) {
  for (const char* program : {"wr", "wrmem", "psearchy"}) {
    const Outcome one = outcome(program, 2e5), other = outcome(program, 4e6);
    EXPECT_GT(one.writes, 0u) << program;
    EXPECT_LT(share_of_mappings(one), 2 * share_of_mappings(other)) << program;
    EXPECT_GT(share_of_mappings(one), share_of_mappings(other) / 2) << program;
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
