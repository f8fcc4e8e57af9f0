// Lists under Read-Log-Update, and those that its paper compares with, on the modelled machine:
// what threads leave is a list, and more of them do more. The address spaces are tested by a run of
// each design.
#include <gtest/gtest.h>

#include "../../predict/compared_sets.h"
#include "../../predict/rlu_sets.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

constexpr double kTime = 3e5;  // virtual nanoseconds

template <class Set>
std::uint64_t done_by(double writes, int buckets, int threads) {
  Set set;
  const Workload w{.write_share = writes, .items = 64, .buckets = buckets};
  const Outcome o = run(even_machine(threads), set, w, threads, kTime);
  EXPECT_TRUE(set.is_in_order());
  EXPECT_GT(o.least, 0u);
  return o.reads + o.writes;
}
template <std::uint32_t kDeferred>
std::uint64_t done(double writes, int buckets, int threads) {
  return done_by<RluSet<kDeferred>>(writes, buckets, threads);
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

template <class Set>
class ComparedSets : public testing::Test {};
using Compared = testing::Types<HarrisSet<false>, HarrisSet<true>, RcuSet>;
TYPED_TEST_SUITE(ComparedSets, Compared);

TYPED_TEST(ComparedSets, UpdatesLeaveListsInOrder) {
  for (const int buckets : {1, 16})
    done_by<TypeParam>(1, buckets, 6);
}

TYPED_TEST(ComparedSets, ReadersGoOnTogether) {
  EXPECT_GT(done_by<TypeParam>(0, 1, 6), 5 * done_by<TypeParam>(0, 1, 1));
}

// One lock lets writers of a list wait for each other, and a list without locks doesn't.
TEST(ComparedSets, OnlyWritersUnderRcuAreSerial) {
  EXPECT_GT(done_by<HarrisSet<false>>(1, 1, 6), 2 * done_by<HarrisSet<false>>(1, 1, 1));
  EXPECT_LT(done_by<RcuSet>(1, 1, 6), 1.2 * done_by<RcuSet>(1, 1, 1));
}

// A node is protected before it is read, which moves no line but makes each step longer.
TEST(ComparedSets, HazardPointersMakeEachStepLonger) {
  EXPECT_GT(done_by<HarrisSet<false>>(0, 1, 1), 1.2 * done_by<HarrisSet<true>>(0, 1, 1));
}

}  // namespace
}  // namespace lockswap::predict
