// The functions of range_lock.h, as a program that links with the library calls them.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "api_fixture.h"
#include "lockswap/range_lock.h"
#include "lockswap/range_lock.hpp"

extern "C" int api_in_c(void);

namespace {

INSTANTIATE_TEST_SUITE_P(All, RangeApi, all_variants());

TEST_P(RangeApi, OnlyOverlappingRangesExcludeEachOther) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 10, 20, kExclusive), 0);
  EXPECT_EQ(probe(0, 10, kExclusive), 0);
  EXPECT_EQ(probe(20, 21, kExclusive), 0);
  EXPECT_EQ(probe(19, 20, kExclusive), EBUSY);
  EXPECT_EQ(probe(0, 11, kShared), EBUSY);
  EXPECT_EQ(probe(0, UINT64_MAX, kShared), EBUSY);
  EXPECT_EQ(lockswap_range_release(&r), 0);
  EXPECT_EQ(probe(0, UINT64_MAX, kExclusive), 0);
}

TEST_P(RangeApi, ReadersShare) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 10, 20, kShared), 0);
  EXPECT_EQ(probe(15, 30, kShared), shares() ? 0 : EBUSY);
  EXPECT_EQ(probe(10, 20, kShared), shares() ? 0 : EBUSY);
  EXPECT_EQ(probe(15, 30, kExclusive), EBUSY);
  EXPECT_EQ(lockswap_range_release(&r), 0);
}

TEST_P(RangeApi, FullRange) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire_full(&lock, &r, kExclusive), 0);
  EXPECT_EQ(probe(0, 1, kShared), EBUSY);
  EXPECT_EQ(probe(UINT64_MAX - 1, UINT64_MAX, kShared), EBUSY);
  EXPECT_EQ(lockswap_range_release(&r), 0);
}

TEST_P(RangeApi, WrongArguments) {
  lockswap_range r;
  EXPECT_EQ(lockswap_range_acquire(&lock, &r, 5, 5, kExclusive), EINVAL);
  EXPECT_EQ(lockswap_range_acquire(&lock, &r, 6, 5, kShared), EINVAL);
  EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, 1, 2), EINVAL);
  EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, 1, -1), EINVAL);
  EXPECT_EQ(lockswap_range_release(&r), EINVAL) << "a failed acquisition leaves no range";
  EXPECT_EQ(lockswap_range_downgrade(&r), EINVAL);
  timespec t = in(CLOCK_REALTIME, 0);
  t.tv_nsec = 1'000'000'000;
  EXPECT_EQ(lockswap_range_timed_acquire(&lock, &r, 0, 1, kShared, &t), EINVAL);
  t.tv_nsec = -1;
  EXPECT_EQ(lockswap_range_timed_acquire(&lock, &r, 0, 1, kShared, &t), EINVAL);
  t.tv_nsec = 0;
  EXPECT_EQ(lockswap_range_clock_acquire(&lock, &r, 0, 1, kShared, CLOCK_THREAD_CPUTIME_ID, &t),
            EINVAL);
}

TEST_P(RangeApi, AHandleIsReleasedOnceAndByItsThread) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, kExclusive), 0);
  elsewhere([&] {
    EXPECT_EQ(lockswap_range_release(&r), EPERM);
    EXPECT_EQ(lockswap_range_downgrade(&r), EPERM);
  });
  EXPECT_EQ(probe(0, 10, kExclusive), EBUSY) << "it is still held";
  EXPECT_EQ(lockswap_range_release(&r), 0);
  EXPECT_EQ(lockswap_range_release(&r), EINVAL);
}

TEST_P(RangeApi, ACopyOfAHandleIsRefusedOnceEitherIsReleased) {
  for (int i = 0; i < 200; ++i) {
    lockswap_range first;
    lockswap_range second;
    ASSERT_EQ(lockswap_range_acquire(&lock, &first, 0, 10, kExclusive), 0);
    lockswap_range copy = first;
    EXPECT_EQ(lockswap_range_release(&copy), 0);
    copy = first;
    EXPECT_EQ(lockswap_range_release(&first), EINVAL);
    // The same memory may be this range's now.
    ASSERT_EQ(lockswap_range_acquire(&lock, &second, 0, 10, kExclusive), 0);
    EXPECT_EQ(lockswap_range_release(&copy), EINVAL);
    EXPECT_EQ(lockswap_range_downgrade(&copy), EINVAL);
    EXPECT_EQ(lockswap_range_try_upgrade(&copy), EINVAL);
    if (i == 0) {
      EXPECT_EQ(probe(0, 10, kExclusive), EBUSY) << "it is still held";
    }
    EXPECT_EQ(lockswap_range_release(&second), 0);
  }
}

TEST_P(RangeApi, DestroyRefusesAHeldLock) {
  lockswap_range a;
  lockswap_range b;
  ASSERT_EQ(lockswap_range_acquire(&lock, &a, 0, 10, kExclusive), 0);
  ASSERT_EQ(lockswap_range_acquire(&lock, &b, 20, 30, kExclusive), 0);
  EXPECT_EQ(lockswap_range_lock_destroy(&lock), EBUSY);
  EXPECT_EQ(lockswap_range_release(&a), 0);
  EXPECT_EQ(lockswap_range_lock_destroy(&lock), EBUSY);
  EXPECT_EQ(lockswap_range_release(&b), 0);
  EXPECT_EQ(lockswap_range_lock_destroy(&lock), 0);
}

TEST_P(RangeApi, OnesOwnOverlapIsADeadlock) {
  lockswap_range r;
  lockswap_range other;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 10, 20, kExclusive), 0);
  EXPECT_EQ(lockswap_range_acquire(&lock, &other, 15, 16, kExclusive), EDEADLK);
  EXPECT_EQ(lockswap_range_acquire(&lock, &other, 0, 11, kShared), EDEADLK);
  EXPECT_EQ(lockswap_range_try_acquire(&lock, &other, 0, 11, kShared), EBUSY);
  const timespec t = in(CLOCK_MONOTONIC, 60'000);
  EXPECT_EQ(lockswap_range_clock_acquire(&lock, &other, 0, 11, kShared, CLOCK_MONOTONIC, &t),
            EDEADLK);
  EXPECT_EQ(lockswap_range_acquire(&lock, &other, 0, 10, kShared), 0) << "they only touch";
  EXPECT_EQ(lockswap_range_release(&other), 0);
  EXPECT_EQ(lockswap_range_release(&r), 0);
}

TEST_P(RangeApi, OwnReadersOverlap) {
  lockswap_range a;
  lockswap_range b;
  lockswap_range c;
  ASSERT_EQ(lockswap_range_acquire(&lock, &a, 10, 20, kShared), 0);
  const int second = lockswap_range_acquire(&lock, &b, 0, 15, kShared);
  EXPECT_EQ(second, shares() ? 0 : EDEADLK);
  EXPECT_EQ(lockswap_range_acquire(&lock, &c, 12, 13, kExclusive), EDEADLK);
  EXPECT_EQ(lockswap_range_release(&a), 0);
  EXPECT_EQ(lockswap_range_release(&b), second == 0 ? 0 : EINVAL);
}

TEST_P(RangeApi, TimedFormsTimeOut) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, kExclusive), 0);
  elsewhere([&] {
    lockswap_range other;
    const timespec soon = in(CLOCK_MONOTONIC, 5);
    EXPECT_EQ(
        lockswap_range_clock_acquire(&lock, &other, 5, 15, kExclusive, CLOCK_MONOTONIC, &soon),
        ETIMEDOUT);
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    EXPECT_TRUE(now.tv_sec > soon.tv_sec ||
                (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
    const timespec over{0, 0};
    EXPECT_EQ(lockswap_range_timed_acquire(&lock, &other, 5, 15, kShared, &over), ETIMEDOUT);
    const timespec before_time{-1, 0};
    EXPECT_EQ(lockswap_range_timed_acquire(&lock, &other, 5, 15, kShared, &before_time), ETIMEDOUT);
    EXPECT_EQ(lockswap_range_timed_acquire(&lock, &other, 10, 15, kShared, &over), 0)
        << "what is free is had, however late it is";
    EXPECT_EQ(lockswap_range_release(&other), 0);
  });
  EXPECT_EQ(lockswap_range_release(&r), 0);
}

TEST_P(RangeApi, AWaiterGoesOnWhenItsRangeIsFree) {
  for (const bool timed : {false, true}) {
    lockswap_range r;
    ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, kExclusive), 0);
    std::atomic<bool> in_it{false};
    std::atomic<pid_t> id{0};
    std::thread waiter([&] {
      id = gettid();
      lockswap_range mine;
      const timespec t = in(CLOCK_REALTIME, 600'000);
      EXPECT_EQ(timed ? lockswap_range_timed_acquire(&lock, &mine, 5, 15, kShared, &t)
                      : lockswap_range_acquire(&lock, &mine, 5, 15, kShared),
                0);
      in_it = true;
      EXPECT_EQ(lockswap_range_release(&mine), 0);
    });
    until_asleep(id);
    EXPECT_FALSE(in_it);
    EXPECT_EQ(lockswap_range_release(&r), 0);
    waiter.join();
    EXPECT_TRUE(in_it);
  }
}

// The paper's example (section 3): A holds [1, 4), B waits for [2, 8). In the lists C gets [4, 6)
// at once; in the trees it waits for B.
TEST_P(RangeApi, WhoWaitsIsInNobodysWayButInTrees) {
  lockswap_range a;
  ASSERT_EQ(lockswap_range_acquire(&lock, &a, 1, 4, kExclusive), 0);
  std::atomic<pid_t> id{0};
  std::thread b([&] {
    id = gettid();
    lockswap_range r;
    EXPECT_EQ(lockswap_range_acquire(&lock, &r, 2, 8, kExclusive), 0);
    EXPECT_EQ(lockswap_range_release(&r), 0);
  });
  until_asleep(id);
  EXPECT_EQ(probe(4, 6, kExclusive), queues() ? EBUSY : 0);
  EXPECT_EQ(probe(8, 9, kExclusive), 0);
  EXPECT_EQ(lockswap_range_release(&a), 0);
  b.join();
}

TEST_P(RangeApi, DowngradeLetsReadersIn) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, kExclusive), 0);
  if (!shares()) {
    EXPECT_EQ(lockswap_range_downgrade(&r), ENOTSUP);
    EXPECT_EQ(lockswap_range_release(&r), 0);
    return;
  }
  std::atomic<bool> in_it{false};
  std::atomic<pid_t> id{0};
  std::thread reader([&] {
    id = gettid();
    lockswap_range mine;
    EXPECT_EQ(lockswap_range_acquire(&lock, &mine, 5, 15, kShared), 0);
    in_it = true;
    EXPECT_EQ(lockswap_range_release(&mine), 0);
  });
  until_asleep(id);
  EXPECT_FALSE(in_it);
  EXPECT_EQ(lockswap_range_downgrade(&r), 0);
  reader.join();
  EXPECT_EQ(probe(0, 1, kExclusive), EBUSY);
  EXPECT_EQ(probe(0, 1, kShared), 0);
  EXPECT_EQ(lockswap_range_downgrade(&r), EINVAL) << "it is shared already";
  EXPECT_EQ(lockswap_range_release(&r), 0);
  EXPECT_EQ(probe(0, 1, kExclusive), 0);
}

TEST_P(RangeApi, TryUpgrade) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, kShared), 0);
  elsewhere([&] { EXPECT_EQ(lockswap_range_try_upgrade(&r), EPERM); });
  if (GetParam().implementation != std::string("kernel-rw")) {
    EXPECT_EQ(lockswap_range_try_upgrade(&r), ENOTSUP);
    EXPECT_EQ(lockswap_range_release(&r), 0);
    EXPECT_EQ(lockswap_range_try_upgrade(&r), EINVAL);
    return;
  }
  lockswap_range own;
  ASSERT_EQ(lockswap_range_acquire(&lock, &own, 9, 12, kShared), 0);
  EXPECT_EQ(lockswap_range_try_upgrade(&r), EBUSY) << "this thread's own";
  EXPECT_EQ(lockswap_range_release(&own), 0);
  elsewhere([&] {
    lockswap_range other;
    ASSERT_EQ(lockswap_range_acquire(&lock, &other, 5, 6, kShared), 0);
    elsewhere([&] { EXPECT_EQ(lockswap_range_try_upgrade(&r), EPERM); });
    EXPECT_EQ(lockswap_range_release(&other), 0);
  });
  EXPECT_EQ(probe(0, 1, kShared), 0) << "it is still shared";
  EXPECT_EQ(lockswap_range_try_upgrade(&r), 0);
  EXPECT_EQ(probe(0, 1, kShared), EBUSY);
  EXPECT_EQ(lockswap_range_try_upgrade(&r), EINVAL) << "it is exclusive already";
  EXPECT_EQ(lockswap_range_downgrade(&r), 0);
  EXPECT_EQ(probe(0, 1, kShared), 0);
  EXPECT_EQ(lockswap_range_release(&r), 0);
}

// Many ranges of one thread, released in another order.
TEST_P(RangeApi, ManyRanges) {
  constexpr std::uint64_t kMany = 500;
  std::vector<lockswap_range> ranges(kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const std::uint64_t at = i * 7 % kMany * 10;
    ASSERT_EQ(lockswap_range_acquire(&lock, &ranges[i], at, at + 10, kExclusive), 0);
  }
  EXPECT_EQ(probe(2500, 2501, kShared), EBUSY);
  for (std::uint64_t i = 0; i < kMany; ++i)
    EXPECT_EQ(lockswap_range_release(&ranges[i * 11 % kMany]), 0);
  EXPECT_EQ(probe(0, UINT64_MAX, kExclusive), 0);
}

TEST_P(RangeApi, AChildOfForkKeepsItsOwnRanges) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, kExclusive), 0);
  const pid_t child = fork();
  if (child == 0) {
    bool good = true;
    std::thread([&] {
      lockswap_range other;
      good = lockswap_range_try_acquire(&lock, &other, 5, 6, kExclusive) == EBUSY &&
             lockswap_range_try_acquire(&lock, &other, 10, 12, kExclusive) == 0 &&
             lockswap_range_release(&other) == 0;
    }).join();
    good = good && lockswap_range_release(&r) == 0 && lockswap_range_lock_destroy(&lock) == 0;
    _exit(good ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(lockswap_range_release(&r), 0);
}

TEST(RangeAttributes, WrongValues) {
  lockswap_range_lock_attr attr;
  ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "list"), EINVAL);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, ""), EINVAL);
  EXPECT_EQ(lockswap_range_lock_attr_set_fair(&attr, 2), EINVAL);
  EXPECT_EQ(lockswap_range_lock_attr_set_preference(&attr, 2), EINVAL);
}

TEST(RangeAttributes, EachIsSetAlone) {
  lockswap_range_lock_attr defaults;
  lockswap_range_lock_attr attr;
  for (lockswap_range_lock_attr* a : {&defaults, &attr}) {
    ASSERT_EQ(lockswap_range_lock_attr_init(a), 0);
    EXPECT_EQ(lockswap_range_lock_attr_set_fair(a, 1), 0);
    EXPECT_EQ(lockswap_range_lock_attr_set_preference(a, LOCKSWAP_RANGE_PREFER_READERS), 0);
  }
  const auto same = [&] { return std::memcmp(&attr, &defaults, sizeof attr) == 0; };
  EXPECT_TRUE(same());
  EXPECT_EQ(lockswap_range_lock_attr_set_fair(&attr, 0), 0);
  EXPECT_EQ(lockswap_range_lock_attr_set_preference(&attr, LOCKSWAP_RANGE_PREFER_WRITERS), 0);
  EXPECT_FALSE(same());
  EXPECT_EQ(lockswap_range_lock_attr_set_fair(&attr, 1), 0);
  EXPECT_FALSE(same()) << "fairness took the preference along";
  EXPECT_EQ(lockswap_range_lock_attr_set_preference(&attr, LOCKSWAP_RANGE_PREFER_READERS), 0);
  EXPECT_TRUE(same()) << "the preference took fairness along";
}

// A lock's bytes say what it is; nobody has used these.
lockswap_range_lock made(const char* name, int fair, int preference) {
  lockswap_range_lock_attr attr;
  EXPECT_EQ(lockswap_range_lock_attr_init(&attr), 0);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, name), 0) << name;
  if (fair >= 0) {
    EXPECT_EQ(lockswap_range_lock_attr_set_fair(&attr, fair), 0);
  }
  if (preference >= 0) {
    EXPECT_EQ(lockswap_range_lock_attr_set_preference(&attr, preference), 0);
  }
  lockswap_range_lock lock;
  EXPECT_EQ(lockswap_range_lock_init(&lock, &attr), 0);
  return lock;
}
bool same(const lockswap_range_lock& a, const lockswap_range_lock& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TEST(RangeAttributes, ANameMayHaveThem) {
  constexpr int kUnset = -1;
  const auto plain = made("list-rw", kUnset, kUnset);
  const auto writers = made("list-rw", kUnset, LOCKSWAP_RANGE_PREFER_WRITERS);
  const auto unfair = made("list-rw", 0, kUnset);
  EXPECT_FALSE(same(writers, plain));
  EXPECT_FALSE(same(unfair, plain));
  EXPECT_TRUE(same(made("list-rw:writers-first", kUnset, kUnset), writers));
  EXPECT_TRUE(same(made("LIST-RW:Unfair", kUnset, kUnset), unfair));
  EXPECT_TRUE(same(made("list-rw:unfair:writers-first", kUnset, kUnset),
                   made("list-rw", 0, LOCKSWAP_RANGE_PREFER_WRITERS)));
}

TEST(RangeAttributes, WhatTheProgramSetsOverridesTheName) {
  const auto plain = made("list-rw", 1, LOCKSWAP_RANGE_PREFER_READERS);
  EXPECT_TRUE(same(made("list-rw:unfair:writers-first", 1, LOCKSWAP_RANGE_PREFER_READERS), plain));
}

TEST(RangeAttributes, ANameHasOnlyWhatItsLockTakes) {
  lockswap_range_lock_attr attr;
  ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
  for (const char* name :
       {"kernel-rw:unfair", "list-rw:", "list-rw:fair", "list-rw:unfair:", "list-rwunfair"}) {
    EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, name), EINVAL) << name;
  }
}

TEST(RangeInC, WorksFromItsInitialiser) { EXPECT_EQ(api_in_c(), 0); }

TEST(RangeInCpp, HoldsAndReleases) {
  lockswap::range_lock lock("list-rw");
  {
    const auto mine = lock.exclusive(0, 10);
    EXPECT_TRUE(mine);
    elsewhere([&] {
      EXPECT_FALSE(lock.try_shared(5, 6));
      EXPECT_FALSE(lock.try_exclusive_for(5, 6, std::chrono::milliseconds(1)));
      EXPECT_TRUE(lock.try_exclusive(10, 20));
    });
    EXPECT_THROW(lock.shared(5, 6), std::system_error);
    EXPECT_THROW(lock.shared(5, 5), std::system_error);
  }
  auto a = lock.exclusive();
  a.downgrade();
  elsewhere([&] { EXPECT_TRUE(lock.try_shared()); });
  EXPECT_THROW(a.try_upgrade(), std::system_error) << "list-rw cannot";
  auto b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that is what is looked at
  EXPECT_TRUE(b);
  b.release();
  elsewhere([&] { EXPECT_TRUE(lock.try_exclusive_for(0, 1, std::chrono::seconds(1))); });
  EXPECT_THROW(lockswap::range_lock("list"), std::system_error);
  elsewhere([&] { EXPECT_TRUE(lock.try_shared_for(0, 1, std::chrono::hours::max())); });
  elsewhere([&] { EXPECT_TRUE(lock.try_shared_for(0, 1, std::chrono::duration<double>(1e300))); });
  elsewhere([&] { EXPECT_TRUE(lock.try_shared_for(0, 1, std::chrono::hours::min())); });
}

TEST(RangeInCpp, UpgradesWhereItCan) {
  lockswap::range_lock lock("kernel-rw");
  auto a = lock.shared(0, 10);
  {
    const auto b = lock.shared(5, 15);
    EXPECT_FALSE(a.try_upgrade());
  }
  EXPECT_TRUE(a.try_upgrade());
  elsewhere([&] { EXPECT_FALSE(lock.try_shared(0, 1)); });
}

TEST(RangeInCpp, SegmentsAreOfTheLengthThatIsAsked) {
  constexpr std::uint64_t kLength = 16;
  lockswap::range_lock lock("pnova-rw", true, LOCKSWAP_RANGE_PREFER_READERS, kLength);
  const auto mine = lock.exclusive(0, 1);
  elsewhere([&] {
    EXPECT_FALSE(lock.try_exclusive(kLength - 1, kLength));
    EXPECT_TRUE(lock.try_exclusive(kLength, kLength + 1));
  });
}

}  // namespace
