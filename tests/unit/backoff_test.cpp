// Whether a waiting thread naps: what looks after naps have found decides, word by word.

#include "platform/adaptive/backoff.h"

#include <cstdint>
#include <gtest/gtest.h>

namespace lockswap::backoff_test {
namespace {

class BackoffTest : public testing::Test {
 protected:
  void SetUp() override {
    Spins::prepare(1000, {.allowed = 2});
    Backoff::forget(&at_);
  }
  void TearDown() override {
    Spins::prepare(0, {.allowed = 2});
    Backoff::forget(&at_);
  }

  // Each of `looks`, of which `busy` in ten are: the lock is held for that part of the time.
  void look(int looks, int busy) {
    for (int i = 0; i < looks; ++i)
      Backoff::learn(&at_, i % 10 < busy);
  }
  unsigned naps_in(unsigned times) {
    unsigned naps = 0;
    for (unsigned i = 0; i < times; ++i)
      naps += Backoff::should_sleep(&at_) ? 1 : 0;
    return naps;
  }

  std::uint64_t at_ = 0;
};

TEST_F(BackoffTest, WhereNothingIsKnownThreadsNap) { EXPECT_EQ(naps_in(100), 100u); }

TEST_F(BackoffTest, WhereNobodySpinsNobodyNaps) {
  Spins::prepare(1000, {.allowed = 1});
  EXPECT_EQ(naps_in(100), 0u);
}

TEST_F(BackoffTest, AFewLooksDecide) {
  look(20, 10);
  EXPECT_EQ(naps_in(Backoff::kTries), 1u);
}

TEST_F(BackoffTest, WhereTheLockIsSeldomBusyThreadsNap) {
  look(1000, 2);
  EXPECT_EQ(naps_in(100), 100u);
}

TEST_F(BackoffTest, WhereTheLockIsOftenBusyOneInSoManyNaps) {
  look(1000, 6);
  EXPECT_EQ(naps_in(10 * Backoff::kTries), 10u);
}

TEST_F(BackoffTest, WhatWasLearnedChangesWithTheLock) {
  look(1000, 10);
  EXPECT_EQ(naps_in(Backoff::kTries), 1u);
  look(1000, 0);
  EXPECT_EQ(naps_in(100), 100u);
}

TEST_F(BackoffTest, ATurnGoesOnWhileThreadsLearn) {
  look(1000, 10);
  unsigned naps = 0;
  for (unsigned i = 0; i < Backoff::kTries; ++i) {
    naps += Backoff::should_sleep(&at_) ? 1 : 0;
    look(1, 10);
  }
  EXPECT_EQ(naps, 1u);
}

}  // namespace
}  // namespace lockswap::backoff_test
