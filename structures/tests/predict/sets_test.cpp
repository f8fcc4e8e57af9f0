// Lists under Read-Log-Update on the modelled machine: what threads leave is a list, and more of
// them do more. The address spaces are tested by a run of each design.
#include <gtest/gtest.h>

#include "../../predict/rlu_sets.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

template <std::uint32_t kDeferred>
std::uint64_t done(double writes, int buckets, int threads) {
  RluSet<kDeferred> set;
  const Workload w{.write_share = writes, .items = 64, .buckets = buckets};
  const Outcome o = run(even_machine(threads), set, w, threads, 3e5);
  EXPECT_TRUE(set.is_in_order());
  EXPECT_GT(o.least, 0u);
  return o.reads + o.writes;
}

TEST(RluSets, UpdatesLeaveListsInOrder) {
  for (const int buckets : {1, 16}) {
    done<1>(1, buckets, 6);
    done<10>(1, buckets, 6);
  }
}

TEST(RluSets, ReadersGoOnTogether) { EXPECT_GT(done<1>(0, 1, 6), 5 * done<1>(0, 1, 1)); }

// A commit that takes effect at once waits for all readers.
TEST(RluSets, DeferredCommitsAreFaster) { EXPECT_GT(done<10>(0.4, 64, 6), done<1>(0.4, 64, 6)); }

}  // namespace
}  // namespace lockswap::predict
