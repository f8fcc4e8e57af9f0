// Whether threads leave a lock to one of them: the rates that trials have found decide, lock by
// lock.
#include "platform/adaptive/contention_throttle.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <thread>

#include "asleep.h"
#include "locks/mutex/eventual.h"
#include "locks/rw/eventual.h"
#include "platform/native.h"
#include "platform/thread.h"
#include "platform/wait_events.h"
#include "wait/park.h"

namespace lockswap::contention_throttle_test {
namespace {

struct TestClock {
  static inline std::uint64_t ns = 0;
  static std::uint64_t now() { return ns; }
  static std::uint64_t nearly_now() { return ns; }
};
using Tries = TriesThrottling<TestClock>;

class ContentionThrottleTest : public testing::Test {
 protected:
  void SetUp() override {
    Spins::prepare(1000, {.allowed = 2});
    Tries::forget(&at_);
  }
  void TearDown() override { Spins::prepare(0, {.allowed = 2}); }

  // Threads find the lock taken often, until a trial begins.
  static void until_trial(const void* at) {
    constexpr std::uint64_t kOften = 100'000;
    for (std::uint64_t waited = 0; waited < 2 * Tries::kSeldom * Tries::kPeriod; waited += kOften) {
      if (Tries::advise(at).counts) return;
      TestClock::ns += kOften;
    }
    FAIL() << "no trial begins";
  }
  static void pass_phase(int releases, const void* at) {
    for (int i = 0; i < releases; ++i)
      EXPECT_TRUE(Tries::counted(at));
    TestClock::ns += Tries::kPhase;
  }
  // A trial that counts so many releases in each phase.
  void try_both(int together, int alone) {
    const bool is_on = naps();
    until_trial(&at_);
    EXPECT_FALSE(naps()) << "threads nap while others have yet to come back";
    if (is_on) {
      TestClock::ns += Tries::kRecovery + Tries::kPhase;
      EXPECT_FALSE(naps()) << "threads nap while all take part";
    }
    pass_phase(together, &at_);
    EXPECT_EQ(Tries::advise(&at_).sleep, Tries::kPhase);
    pass_phase(alone, &at_);
    Tries::backed_off(&at_);
    EXPECT_FALSE(Tries::counted(&at_)) << "the trial is over";
  }
  bool naps() { return Tries::advise(&at_).sleep != 0; }

  static constexpr int kFew = 16 * 20, kMany = 16 * 200;
  std::uint64_t at_ = 0;
};

TEST_F(ContentionThrottleTest, WhereNothingIsKnownNobodyNaps) {
  for (std::uint32_t i = 0; i < Tries::kHot / 2; ++i)
    EXPECT_FALSE(naps());
}

TEST_F(ContentionThrottleTest, WhereNobodySpinsNothingIsTried) {
  Spins::prepare(1000, {.allowed = 1});
  for (std::uint32_t i = 0; i < 10 * Tries::kHot; ++i) {
    EXPECT_FALSE(Tries::advise(&at_).counts);
    EXPECT_FALSE(naps());
  }
}

TEST_F(ContentionThrottleTest, TwoTrialsDecide) {
  try_both(kFew, kMany);
  EXPECT_FALSE(naps());
  try_both(kFew, kMany);
  EXPECT_TRUE(naps());
}

TEST_F(ContentionThrottleTest, WhereOneAloneIsSlowerNobodyNaps) {
  for (int i = 0; i < 3; ++i) {
    try_both(kMany, kFew);
    EXPECT_FALSE(naps());
  }
}

TEST_F(ContentionThrottleTest, WhatWasLearnedChangesWithTheLock) {
  for (int i = 0; i < 3; ++i)
    try_both(kFew, kMany);
  EXPECT_TRUE(naps());
  try_both(kMany, kFew);
  EXPECT_TRUE(naps()) << "one trial may be wrong";
  try_both(kMany, kFew);
  EXPECT_FALSE(naps());
}

// So one that is seldom taken costs nothing.
TEST_F(ContentionThrottleTest, ALockThatIsSeldomTakenIsNotTried) {
  for (std::uint32_t i = 0; i < 100 * Tries::kHot; ++i) {
    EXPECT_FALSE(Tries::advise(&at_).counts);
    TestClock::ns += 2 * Tries::kPeriod / Tries::kHot;
  }
}

TEST_F(ContentionThrottleTest, ATrialAtALockThatNobodyTakesAnyMoreSaysNothing) {
  for (int i = 0; i < 4; ++i) {
    until_trial(&at_);
    EXPECT_FALSE(naps());
    pass_phase(kFew, &at_);
    EXPECT_EQ(Tries::advise(&at_).sleep, Tries::kPhase);
    pass_phase(kMany, &at_);
    TestClock::ns += 3 * Tries::kPhase;
    Tries::backed_off(&at_);
    EXPECT_FALSE(Tries::counted(&at_)) << "the trial is over";
  }
  EXPECT_FALSE(naps());
}

// Releases alone end it, which look at no clock; the next trial counts from the beginning.
TEST_F(ContentionThrottleTest, ATrialAtALockThatOneThreadAloneTakesIsOver) {
  until_trial(&at_);
  const std::uint64_t begin = TestClock::ns;
  std::uint64_t releases = 1;
  while (Tries::counted(&at_) && releases < 2 * Tries::kMostCounted)
    ++releases;
  EXPECT_GE(releases, Tries::kMostCounted);
  EXPECT_LE(releases, Tries::kMostCounted + Tries::kBatch);
  EXPECT_EQ(TestClock::ns, begin);
  EXPECT_FALSE(Tries::counted(&at_));
  try_both(kFew, kMany);
}

TEST_F(ContentionThrottleTest, OneLockIsTriedAtATime) {
  std::uint64_t other = 0;
  until_trial(&at_);
  until_trial(&other);
  EXPECT_FALSE(Tries::counted(&at_));
  EXPECT_TRUE(Tries::counted(&other));
}

// Chance decides between few, and what is done in the lock.
TEST_F(ContentionThrottleTest, FewReleasesSayNo) {
  for (int i = 0; i < 3; ++i) {
    try_both(2 * 16, 8 * 16);
    EXPECT_FALSE(naps());
  }
}

// Two processors' clocks differ by a little, or another thread has just begun the phase.
TEST_F(ContentionThrottleTest, AClockThatGoesBackEndsNoPhase) {
  try_both(kFew, kMany);
  until_trial(&at_);
  EXPECT_FALSE(naps());
  for (int i = 0; i < kFew; ++i)
    Tries::counted(&at_);
  TestClock::ns -= 1;
  EXPECT_FALSE(naps());
  TestClock::ns += 1;
  pass_phase(0, &at_);
  EXPECT_EQ(Tries::advise(&at_).sleep, Tries::kPhase);
  TestClock::ns -= 1;
  EXPECT_EQ(Tries::advise(&at_).sleep, Tries::kPhase);
  TestClock::ns += 1;
  pass_phase(kMany, &at_);
  Tries::backed_off(&at_);
  EXPECT_TRUE(naps());
}

TEST_F(ContentionThrottleTest, WhereThreadsSeldomFindTheLockTakenNapsEnd) {
  for (int i = 0; i < 3; ++i)
    try_both(kFew, kMany);
  EXPECT_TRUE(naps());
  for (std::uint32_t i = 0; i < 4 * Tries::kWarm; ++i) {
    TestClock::ns += Tries::kPeriod / 2;
    EXPECT_FALSE(Tries::advise(&at_).counts);
  }
  EXPECT_FALSE(naps());
}
TEST_F(ContentionThrottleTest, AfterALongTimeNothingIsKnown) {
  for (int i = 0; i < 3; ++i)
    try_both(kFew, kMany);
  EXPECT_TRUE(naps());
  TestClock::ns += 100 * Tries::kPeriod;
  EXPECT_FALSE(naps());
}

// Naps come to last longer where many threads nap, as they come back more often; and shorter again.
TEST_F(ContentionThrottleTest, ManyThreadsNapForLonger) {
  for (int i = 0; i < 3; ++i)
    try_both(kFew, kMany);
  const auto longest_nap = [this](int a_period) {
    std::uint64_t longest = 0;
    for (int i = 0; i < 20 * a_period; ++i) {
      TestClock::ns += Tries::kPeriod / static_cast<std::uint64_t>(a_period);
      const auto advice = Tries::advise(&at_);
      if (advice.counts) Tries::forget_trial();
      if (i > 10 * a_period) longest = std::max(longest, advice.sleep);
    }
    return longest;
  };
  EXPECT_EQ(longest_nap(400), Tries::kSleep);
  EXPECT_EQ(longest_nap(2000), Tries::kSleep << 6);
  EXPECT_EQ(longest_nap(12), Tries::kSleep);
}

// Threads that find it taken, until its releases are counted; then all of them are through.
template <class Take, class Leave, class IsIdle>
void a_free_lock_is_idle(Take take, Leave leave, IsIdle is_idle) {
  Spins::prepare(1000, {.allowed = 2});
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) {
      take();
      leave();
    }
  });
  for (int i = 0; i < 300'000; ++i) {
    take();
    leave();
  }
  ends = true;
  other.join();
  EXPECT_TRUE(is_idle());
  Spins::prepare(0, {.allowed = 2});
}
TEST(ContentionThrottleLocks, AFreeMutexIsIdle) {
  for (int i = 0; i < 8; ++i) {
    EventualMutex<Native, Park<Native>> lock;
    a_free_lock_is_idle([&] { lock.lock(); }, [&] { lock.unlock(); }, [&] { return lock.idle(); });
  }
}
// Its clock goes on whenever a thread that finds the lock taken reads it, so it doesn't matter how
// soon the threads of a busy machine meet.
struct ClockOfMeetings {
  static inline std::atomic<std::uint64_t> ns = 1'000'000'000;
  static std::uint64_t now() { return ns += 6 * Tries::kPhase / 5; }
  static std::uint64_t nearly_now() { return now(); }
};
struct ByMeetings : Native {
  using ContentionThrottle = TriesThrottling<ClockOfMeetings>;
};
// In trials, at least: whether one alone is faster is the machine's affair.
TEST(ContentionThrottleLocks, ThreadsNapAtABusyLock) {
  Spins::prepare(1000, {.allowed = 2});
  EventualMutex<ByMeetings, Park<ByMeetings>> lock;
  ByMeetings::ContentionThrottle::forget(&lock);  // its word comes first
  std::uint32_t naps = 0;
  // A trial may begin with the next period, and each of its phases ends with the next meeting.
  constexpr std::uint32_t kMost = 2 * Tries::kHot + 10;
  for (std::uint32_t meetings = 0; meetings < kMost && naps == 0; ++meetings) {
    lock.lock();
    Sleeper other([&] {
      lock.lock();
      lock.unlock();
      naps = per_thread<WaitEvents>.backoffs;
    });
    other.until_asleep();
    lock.unlock();
    other.join();
  }
  Spins::prepare(0, {.allowed = 2});
  EXPECT_GT(naps, 0u);
}
TEST(ContentionThrottleLocks, AFreeReaderWriterLockIsIdle) {
  for (int i = 0; i < 8; ++i) {
    EventualRw<Native, Park<Native>> lock;
    a_free_lock_is_idle([&] { lock.write_lock(); }, [&] { lock.write_unlock(); },
                        [&] { return lock.idle(); });
  }
}

}  // namespace
}  // namespace lockswap::contention_throttle_test
