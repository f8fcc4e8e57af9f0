// Whether a thread that waits for a condition spins for a moment: what spins have brought decides.
#include "platform/adaptive/brief_spins.h"

#include <cstdint>
#include <gtest/gtest.h>

#include "platform/processors.h"

namespace lockswap::brief_spins_test {
namespace {

class BriefSpinsTest : public testing::Test {
 protected:
  void SetUp() override {
    Spins::prepare(kMost, {.allowed = 2});
    BriefSpins::forget(&at_);
  }
  void TearDown() override {
    Spins::prepare(0, {.allowed = 2});
    BriefSpins::forget(&at_);
  }

  // A wait that ends after that many pauses if the thread spins. Returns for how many it spun.
  std::uint32_t wait(std::uint32_t pauses) {
    BriefSpins spins(&at_);
    if (!spins.begins()) return 0;
    std::uint32_t spun = 0;
    for (; spins.more(); ++spun) {
      if (spun < pauses) continue;
      spins.succeeded();
      return spun;
    }
    spins.sleeps();
    return spun;
  }
  // Returns how many of those waits began a spin.
  unsigned spins_in(unsigned waits, std::uint32_t pauses) {
    unsigned n = 0;
    for (unsigned i = 0; i < waits; ++i)
      n += wait(pauses) != 0 ? 1 : 0;
    return n;
  }

  static constexpr std::uint32_t kMost = 500, kSoon = 10, kNever = ~std::uint32_t{0};
  std::uint64_t at_ = 0;
};

TEST_F(BriefSpinsTest, WhereNothingIsKnownOneWaitInSoManySpins) {
  EXPECT_EQ(wait(kNever), BriefSpins::kPauses);
  EXPECT_EQ(spins_in(10 * BriefSpins::kSeldom, kNever), 10u);
}

TEST_F(BriefSpinsTest, WhereSpinsSucceedAllWaitsSpin) {
  wait(kSoon);
  EXPECT_EQ(spins_in(100, kSoon), 100u);
  EXPECT_EQ(wait(kSoon), kSoon);
}

TEST_F(BriefSpinsTest, WhereOneInThreeSucceedsMostWaitsSpin) {
  unsigned spins = 0;
  for (int i = 0; i < 400; ++i)
    spins += spins_in(1, i % 3 == 0 ? kSoon : kNever);
  EXPECT_GT(spins, 300u);
}

TEST_F(BriefSpinsTest, WhatWasLearnedChanges) {
  spins_in(100, kSoon);
  spins_in(100, kNever);
  EXPECT_EQ(spins_in(10 * BriefSpins::kSeldom, kNever), 10u);
}

TEST_F(BriefSpinsTest, NobodySpinsForLongerThanIsAllowed) {
  Spins::prepare(20, {.allowed = 2});
  EXPECT_EQ(wait(kNever), 20u);
}

TEST_F(BriefSpinsTest, NobodySpinsOnOneProcessor) {
  Spins::prepare(kMost, {.allowed = 1});
  EXPECT_EQ(spins_in(100, kSoon), 0u);
}

}  // namespace
}  // namespace lockswap::brief_spins_test
