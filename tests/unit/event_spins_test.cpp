// Whether the only waiter of a condition variable spins: by what that has brought, and at what
// price.
#include "platform/adaptive/event_spins.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>

#include "platform/cancel.h"
#include "platform/clock.h"
#include "platform/native.h"
#include "platform/process.h"
#include "platform/processors.h"
#include "posix/condvar.h"
#include "wait/park.h"

namespace lockswap::event_spins_test {
namespace {

// A pause takes as long as on a processor of today. Time passes when a test says so.
struct Hours {
  static constexpr std::uint64_t kPause = 25;
  static std::uint64_t now() { return time; }
  static std::uint64_t until(const Deadline& d, std::uint64_t most) {
    const auto at = static_cast<std::uint64_t>(d.at.tv_nsec);
    return at > time ? std::min(at - time, most) : 0;
  }
  static bool has_real_time_policy() { return is_real_time; }
  static inline std::uint64_t time = 0;
  static inline bool is_real_time = false;
};
using TestedSpins = SpinsForEvents<Hours>;

class EventSpinsTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::stamp();
    Spins::prepare(kMost, kTwo);
    TestedSpins::forget(&at_);
    Hours::time = 1'000'000'000;
    Hours::is_real_time = false;
    spun_ = 0;
    ASSERT_EQ(SpinningThreads::count(), 0u);
  }
  void TearDown() override {
    Spins::prepare(0, kTwo);
    EXPECT_EQ(SpinningThreads::count(), 0u);
  }

  // A wait that ends after that many nanoseconds if the thread spins, and if it sleeps. Returns
  // whether the spin was enough.
  bool wait(std::uint64_t awake, std::uint64_t asleep) {
    TestedSpins spins(&at_);
    const std::uint64_t begin = Hours::time;
    while (spins.more()) {
      Hours::time += Hours::kPause;
      if (Hours::time - begin < awake) continue;
      spins.succeeded();
      spun_ += Hours::time - begin;
      return true;
    }
    spun_ += Hours::time - begin;
    spins.sleeps();
    Hours::time += asleep;
    return false;
  }
  // Waits for that long; returns how many of them were over by a spin. Computing minutes of waits
  // takes a while, so one for which nothing was spun may stand for `many` of them.
  unsigned wait_for(std::uint64_t ns, std::uint64_t awake, std::uint64_t asleep,
                    std::uint64_t many = 1) {
    unsigned n = 0;
    for (const std::uint64_t end = Hours::time + ns; Hours::time < end;) {
      const std::uint64_t before = spun_;
      n += wait(awake, asleep);
      if (spun_ == before) Hours::time += (many - 1) * asleep;
    }
    return n;
  }

  static constexpr std::uint32_t kMost = 500;
  static constexpr Processors kTwo{.allowed = 2};
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint64_t kSecond = 1'000'000'000;
  std::uint64_t at_ = 0;    // the condition variable
  std::uint64_t spun_ = 0;  // nanoseconds
};

TEST_F(EventSpinsTest, NothingIsSpunForBeforeATrial) {
  EXPECT_EQ(wait_for(TestedSpins::kFirstTrial, 300, 5'000), 0u);
  EXPECT_EQ(spun_, 0u);
}

TEST_F(EventSpinsTest, ATrialFindsOutThatItPays) {
  wait_for(2 * TestedSpins::kFirstTrial, 300, 5'000);
  EXPECT_TRUE(TestedSpins::is_hot(&at_));
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(wait(300, 5'000));
}

TEST_F(EventSpinsTest, AfterASuccessTheTrialIsSoonOver) {
  wait_for(2 * TestedSpins::kFirstTrial, 300, 5'000);
  ASSERT_TRUE(TestedSpins::is_hot(&at_));
  wait_for(2 * TestedSpins::kTimeToConfirm, 300, 5'000);
  std::uint64_t other = 0;
  TestedSpins::forget_cell(&other);
  TestedSpins spins(&other);
  EXPECT_FALSE(spins.begins());
}

TEST_F(EventSpinsTest, WhereWaitsAreLongNobodySpins) {
  wait_for(10 * kSecond, kNever, 150'000);
  EXPECT_EQ(spun_, 0u);
}

TEST_F(EventSpinsTest, WhatBringsNothingTakesATwentieth) {
  wait_for(kSecond, kNever, 5'000);
  EXPECT_GT(spun_, 0u);
  EXPECT_LE(spun_, kSecond / 15);
  wait_for(19 * kSecond, kNever, 5'000, 4);
  EXPECT_LE(spun_, 20 * kSecond / 20);
  wait_for(300 * kSecond, kNever, 80'000, 20);
  spun_ = 0;
  wait_for(400 * kSecond, kNever, 80'000, 4);
  EXPECT_LE(spun_, 400 * kSecond / 1000);
}

TEST_F(EventSpinsTest, SpinsThatSucceedLateDontMakeItHot) {
  wait_for(20 * kSecond, 2 * TestedSpins::kShort, 5'000, 4);
  EXPECT_FALSE(TestedSpins::is_hot(&at_));
  EXPECT_LE(spun_, 20 * kSecond / 20);
}

TEST_F(EventSpinsTest, AnInterruptionIsPaidFromTheAccount) {
  wait_for(2 * TestedSpins::kFirstTrial, 300, 5'000);
  for (int i = 0; i < 10'000; ++i)
    ASSERT_TRUE(wait(300, 5'000));
  EXPECT_FALSE(wait(kNever, 3'000'000));
  EXPECT_FALSE(TestedSpins::is_hot(&at_));
  // Once waits are known to be short again.
  unsigned i = 0;
  while (!wait(300, 5'000))
    ASSERT_LT(++i, 32u);
  EXPECT_TRUE(TestedSpins::is_hot(&at_));
}

TEST_F(EventSpinsTest, TheAccountIsNotMoreThanWasSaved) {
  const std::uint64_t saved = wait_for(TestedSpins::kFirstTrial * 3 / 2, 300, 5'000);
  ASSERT_GT(saved, 0u);
  spun_ = 0;
  for (int i = 0; i < 20'000; ++i)
    wait(kNever, 5'000);
  EXPECT_GT(spun_, 0u);
  EXPECT_LE(spun_, saved * TestedSpins::kSleep + TestedSpins::kTrial);
}

TEST_F(EventSpinsTest, ThreadsWithRealTimePoliciesMakeNoLongSpins) {
  Hours::is_real_time = true;
  wait_for(TestedSpins::kFirstTrial, kNever, 5'000);
  for (int i = 0; i < 1'000; ++i) {
    spun_ = 0;
    wait(kNever, 5'000);
    EXPECT_LE(spun_, TestedSpins::kShort + 2 * TestedSpins::kPausesPerLook * Hours::kPause);
  }
}

TEST_F(EventSpinsTest, NotMoreSpinThanProcessorsAreLeft) {
  wait_for(TestedSpins::kFirstTrial, kNever, 5'000);
  ASSERT_TRUE(SpinningThreads::enter());
  for (int i = 0; i < 1'000; ++i) {
    spun_ = 0;
    wait(kNever, 5'000);
    EXPECT_LE(spun_, TestedSpins::kShort + 2 * TestedSpins::kPausesPerLook * Hours::kPause);
  }
  SpinningThreads::leave();
}

// What follows a spin may last for hours, be it a sleep or the wait for the mutex.
TEST_F(EventSpinsTest, AThreadThatHasSpunLetsOthersSpin) {
  wait_for(TestedSpins::kFirstTrial, kNever, 5'000);
  for (const bool succeeds : {false, true}) {
    bool was_counted = false;
    for (int i = 0; i < 1'000 && !was_counted; ++i) {
      TestedSpins spins(&at_);
      for (; spins.more() && !was_counted; Hours::time += Hours::kPause)
        was_counted = SpinningThreads::count() != 0;
      succeeds&& was_counted ? spins.succeeded() : spins.sleeps();
      EXPECT_EQ(SpinningThreads::count(), 0u);
      Hours::time += 5'000;
    }
    EXPECT_TRUE(was_counted);
  }
}

TEST_F(EventSpinsTest, NoSpinGoesOnAfterTheDeadline) {
  wait_for(TestedSpins::kFirstTrial, kNever, 5'000);
  constexpr std::uint64_t kOneLook = TestedSpins::kPausesPerLook * Hours::kPause;
  unsigned to_the_end = 0, late = 0;
  for (int i = 0; i < 1'000; ++i) {
    TestedSpins spins(&at_);
    const std::uint64_t begin = Hours::time, end = i % 2 == 0 ? begin + 6'000 : begin - 1;
    if (spins.begins())
      spins.ends_by({.clock = CLOCK_MONOTONIC, .at = {0, static_cast<long>(end)}});
    while (spins.more())
      Hours::time += Hours::kPause;
    EXPECT_LE(Hours::time, std::max(begin, end + 2 * kOneLook));
    to_the_end += Hours::time >= end && i % 2 == 0;
    late += spins.begins() && i % 2 != 0;
    spins.sleeps();
    Hours::time += 5'000;
  }
  EXPECT_GT(to_the_end, 0u);
  EXPECT_EQ(late, 0u);
}

// A platform whose spins only note the deadline.
struct Noting : Native {
  struct EventSpins {
    explicit EventSpins(const void*) {}
    static bool begins() { return true; }
    static void ends_by(const Deadline& d) { end = d.at.tv_sec; }
    static bool more() { return false; }
    static void succeeded() {}
    static void sleeps() {}
  };
  static inline std::int64_t end = 0;
};

TEST(CondvarSpins, KnowTheDeadlineOfTheWait) {
  using Cond = Condvar<Noting, Park<Noting>>;
  ASSERT_TRUE(Cond::prepare());
  Cond cond;
  CancellableSleep sleep;
  const Deadline past{.clock = CLOCK_MONOTONIC, .at = {1, 0}};
  const auto unlock = [] { return 0; };
  const auto lock = [](bool) { return 0; };
  const Cond::Outcome o = cond.wait(1, sleep, &past, unlock, lock);
  EXPECT_EQ(o.error, ETIMEDOUT);
  EXPECT_EQ(Noting::end, 1);
}

TEST_F(EventSpinsTest, NobodySpinsOnOneProcessor) {
  Spins::prepare(kMost, {.allowed = 1});
  EXPECT_EQ(wait_for(kSecond, 300, 5'000), 0u);
  Spins::prepare(0, kTwo);
  EXPECT_EQ(wait_for(kSecond, 300, 5'000), 0u);
  EXPECT_EQ(spun_, 0u);
}

}  // namespace
}  // namespace lockswap::event_spins_test
