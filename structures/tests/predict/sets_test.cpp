// Lists under Read-Log-Update on the modelled machine: what threads leave is a list, and more of
// them do more. The address spaces are tested by a run of each design.
#include <gtest/gtest.h>

#include "../../predict/rlu_sets.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

constexpr double kTime = 3e5;  // virtual nanoseconds

template <std::uint32_t kDeferred>
std::uint64_t done(double writes, int buckets, int threads) {
  RluSet<kDeferred> set;
  const Workload w{.write_share = writes, .items = 64, .buckets = buckets};
  const Outcome o = run(even_machine(threads), set, w, threads, kTime);
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

// No time is left for anything else if all six threads run barriers. Half of the updates commit.
TEST(RluSets, FrequentCommitsHaveNoBarrier) {
  const double barriers = 6 * kTime / even_machine(6).barrier;
  EXPECT_GT(static_cast<double>(done<1>(0.4, 64, 6)) * 0.2, barriers);
}

}  // namespace
}  // namespace lockswap::predict
