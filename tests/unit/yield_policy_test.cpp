// How often a releasing thread yields its processor.
#include "platform/adaptive/yield_policy.h"

#include <cstdint>
#include <gtest/gtest.h>

#include "platform/native.h"
#include "platform/processors.h"
#include "platform/rereading.h"

namespace lockswap::yield_policy_test {
namespace {

// Releases up to the next yield, each of which finds a called thread, or an awake front.
std::uint32_t from_yield_to_yield(bool called) {
  while (!YieldPolicy::should_yield(called)) {}
  std::uint32_t releases = 1;
  while (!YieldPolicy::should_yield(called))
    ++releases;
  return releases;
}

class YieldPolicyTest : public testing::Test {
 protected:
  void TearDown() override { YieldPolicy::adapt({.allowed = 2}); }
};

TEST_F(YieldPolicyTest, AnAwakeFrontCountsForLess) {
  YieldPolicy::adapt({.allowed = 2});
  EXPECT_EQ(from_yield_to_yield(true), YieldPolicy::kReleases);
  EXPECT_EQ(from_yield_to_yield(false), YieldPolicy::kHeadReleases);
}

TEST_F(YieldPolicyTest, ItIsRarerWithAQuotaOfOneProcessor) {
  for (const std::uint64_t percent : {1, 50, 100}) {
    YieldPolicy::adapt({.allowed = 8, .quota_percent = percent});
    EXPECT_EQ(from_yield_to_yield(true), YieldPolicy::kRarer * YieldPolicy::kReleases) << percent;
    EXPECT_EQ(from_yield_to_yield(false), YieldPolicy::kRarer * YieldPolicy::kHeadReleases)
        << percent;
  }
  YieldPolicy::adapt({.allowed = 8, .quota_percent = 101});
  EXPECT_EQ(from_yield_to_yield(true), YieldPolicy::kReleases);
  // One processor by affinity is all theirs.
  YieldPolicy::adapt({.allowed = 1});
  EXPECT_EQ(from_yield_to_yield(true), YieldPolicy::kReleases);
}

TEST_F(YieldPolicyTest, AQuotaThatComesLaterIsNoticed) {
  Processors (*again)(const Processors&) noexcept = [](const Processors& last) noexcept {
    return Processors{.allowed = last.allowed, .quota_percent = 50};
  };
  YieldPolicy::adapt({.allowed = 2});
  Rereading::prepare(again, {.allowed = 2});
  for (std::uint32_t sleeps = 0; sleeps < Rereading::kEvery; ++sleeps)
    Rereading::before_sleep();
  EXPECT_EQ(from_yield_to_yield(true), YieldPolicy::kRarer * YieldPolicy::kReleases);
  Rereading::prepare(nullptr, {});
  Spins::prepare(0, {.allowed = 2});
}

}  // namespace
}  // namespace lockswap::yield_policy_test
