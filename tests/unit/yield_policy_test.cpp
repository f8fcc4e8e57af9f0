// How often a releasing thread yields its processor.
#include "platform/gives_way.h"

#include <cstdint>
#include <gtest/gtest.h>

#include "platform/native.h"
#include "platform/processors.h"
#include "platform/rereading.h"

namespace lockswap {
namespace {

// Releases up to the next yield, each of which finds a called thread, or an awake front.
std::uint32_t from_yield_to_yield(bool called) {
  while (!GivesWay::is_time(called)) {}
  std::uint32_t releases = 1;
  while (!GivesWay::is_time(called))
    ++releases;
  return releases;
}

class GivesWayTest : public testing::Test {
 protected:
  void TearDown() override { GivesWay::adapt({.allowed = 2}); }
};

TEST_F(GivesWayTest, AnAwakeFrontCountsForLess) {
  GivesWay::adapt({.allowed = 2});
  EXPECT_EQ(from_yield_to_yield(true), GivesWay::kReleases);
  EXPECT_EQ(from_yield_to_yield(false), GivesWay::kFrontReleases);
}

TEST_F(GivesWayTest, ItIsRarerWithAQuotaOfOneProcessor) {
  for (const std::uint64_t percent : {1, 50, 100}) {
    GivesWay::adapt({.allowed = 8, .quota_percent = percent});
    EXPECT_EQ(from_yield_to_yield(true), GivesWay::kRarer * GivesWay::kReleases) << percent;
    EXPECT_EQ(from_yield_to_yield(false), GivesWay::kRarer * GivesWay::kFrontReleases) << percent;
  }
  GivesWay::adapt({.allowed = 8, .quota_percent = 101});
  EXPECT_EQ(from_yield_to_yield(true), GivesWay::kReleases);
  // One processor by affinity is all theirs.
  GivesWay::adapt({.allowed = 1});
  EXPECT_EQ(from_yield_to_yield(true), GivesWay::kReleases);
}

TEST_F(GivesWayTest, AQuotaThatComesLaterIsNoticed) {
  Processors (*again)(const Processors&) noexcept = [](const Processors& last) noexcept {
    return Processors{.allowed = last.allowed, .quota_percent = 50};
  };
  GivesWay::adapt({.allowed = 2});
  Rereading::prepare(again, {.allowed = 2});
  for (std::uint32_t sleeps = 0; sleeps < Rereading::kEvery; ++sleeps)
    Rereading::before_sleep();
  EXPECT_EQ(from_yield_to_yield(true), GivesWay::kRarer * GivesWay::kReleases);
  Rereading::prepare(nullptr, {});
  Spins::prepare(0, {.allowed = 2});
}

}  // namespace
}  // namespace lockswap
