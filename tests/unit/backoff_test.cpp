// Whether a waiting thread naps: what looks after naps have found decides, word by word.

#include "platform/naps.h"

#include <cstdint>
#include <gtest/gtest.h>

namespace lockswap {
namespace {

class NapsTest : public testing::Test {
 protected:
  void SetUp() override {
    Spins::prepare(1000, {.allowed = 2});
    Naps::forget(&at_);
  }
  void TearDown() override {
    Spins::prepare(0, {.allowed = 2});
    Naps::forget(&at_);
  }

  // Each of `looks`, of which `busy` in ten are: the lock is held for that part of the time.
  void look(int looks, int busy) {
    for (int i = 0; i < looks; ++i)
      Naps::learn(&at_, i % 10 < busy);
  }
  unsigned naps_in(unsigned times) {
    unsigned naps = 0;
    for (unsigned i = 0; i < times; ++i)
      naps += Naps::are_worth(&at_) ? 1 : 0;
    return naps;
  }

  std::uint64_t at_ = 0;
};

TEST_F(NapsTest, WhereNothingIsKnownThreadsNap) { EXPECT_EQ(naps_in(100), 100u); }

TEST_F(NapsTest, WhereNobodySpinsNobodyNaps) {
  Spins::prepare(1000, {.allowed = 1});
  EXPECT_EQ(naps_in(100), 0u);
}

TEST_F(NapsTest, AFewLooksDecide) {
  look(20, 10);
  EXPECT_EQ(naps_in(Naps::kTries), 1u);
}

TEST_F(NapsTest, WhereTheLockIsSeldomBusyThreadsNap) {
  look(1000, 2);
  EXPECT_EQ(naps_in(100), 100u);
}

TEST_F(NapsTest, WhereTheLockIsOftenBusyOneInSoManyNaps) {
  look(1000, 6);
  EXPECT_EQ(naps_in(10 * Naps::kTries), 10u);
}

TEST_F(NapsTest, WhatWasLearnedChangesWithTheLock) {
  look(1000, 10);
  EXPECT_EQ(naps_in(Naps::kTries), 1u);
  look(1000, 0);
  EXPECT_EQ(naps_in(100), 100u);
}

TEST_F(NapsTest, ATurnGoesOnWhileThreadsLearn) {
  look(1000, 10);
  unsigned naps = 0;
  for (unsigned i = 0; i < Naps::kTries; ++i) {
    naps += Naps::are_worth(&at_) ? 1 : 0;
    look(1, 10);
  }
  EXPECT_EQ(naps, 1u);
}

}  // namespace
}  // namespace lockswap
