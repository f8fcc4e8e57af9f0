// The range locks that are made of reader-writer locks, as a program calls them.
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "api_fixture.h"
#include "lockswap/range_lock.h"

namespace {

constexpr std::uint64_t kSegment = 10;

class RangesOfRwLocks : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    lockswap_range_lock_attr attr;
    ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_implementation(&attr, GetParam()), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_segment(&attr, kSegment), 0);
    ASSERT_EQ(lockswap_range_lock_init(&lock, &attr), 0);
  }
  void TearDown() override { EXPECT_EQ(lockswap_range_lock_destroy(&lock), 0); }
  bool segments() const { return std::string(GetParam()).starts_with("pnova-rw"); }

  int probe(std::uint64_t start, std::uint64_t end, int mode) {
    return try_elsewhere(lock, start, end, mode);
  }

  lockswap_range_lock lock;
};

INSTANTIATE_TEST_SUITE_P(All, RangesOfRwLocks,
                         testing::Values("rwlock", "rwlock:pf-t", "RWLOCK:PF-Q", "rwlock:bravo-ba",
                                         "rwlock:pthread-wp", "pnova-rw", "pnova-rw:ba"));

TEST_P(RangesOfRwLocks, ExcludeBySegments) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 15, 25, kExclusive), 0);
  EXPECT_EQ(probe(0, 10, kExclusive), segments() ? 0 : EBUSY);
  EXPECT_EQ(probe(10, 11, kShared), EBUSY) << "another part of the segment";
  EXPECT_EQ(probe(29, 30, kExclusive), EBUSY);
  EXPECT_EQ(probe(30, 40, kExclusive), segments() ? 0 : EBUSY);
  EXPECT_EQ(probe(256 * kSegment + 10, 256 * kSegment + 11, kExclusive), EBUSY) << "round again";
  EXPECT_EQ(probe(0, UINT64_MAX, kShared), EBUSY);
  EXPECT_EQ(lockswap_range_lock_destroy(&lock), EBUSY);
  EXPECT_EQ(lockswap_range_release(&r), 0);
  EXPECT_EQ(lockswap_range_release(&r), EINVAL);
  EXPECT_EQ(probe(0, UINT64_MAX, kExclusive), 0);
}

TEST_P(RangesOfRwLocks, ReadersShare) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire_full(&lock, &r, kShared), 0);
  EXPECT_EQ(probe(0, 100, kShared), 0);
  EXPECT_EQ(probe(0, 1, kExclusive), EBUSY);
  EXPECT_EQ(lockswap_range_downgrade(&r), ENOTSUP);
  EXPECT_EQ(lockswap_range_release(&r), 0);
}

TEST_P(RangesOfRwLocks, AHandleIsReleasedByItsThread) {
  for (const int mode : {kExclusive, kShared}) {
    for (const std::uint64_t end : {std::uint64_t{1}, 3 * kSegment, UINT64_MAX}) {
      lockswap_range r;
      ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, end, mode), 0);
      std::thread([&] {
        EXPECT_EQ(lockswap_range_release(&r), EPERM);
        EXPECT_EQ(lockswap_range_downgrade(&r), EPERM);
        EXPECT_EQ(lockswap_range_try_upgrade(&r), EPERM);
      }).join();
      EXPECT_EQ(probe(0, 1, kExclusive), EBUSY) << "it is still held";
      EXPECT_EQ(lockswap_range_try_upgrade(&r), ENOTSUP);
      EXPECT_EQ(lockswap_range_release(&r), 0);
      EXPECT_EQ(lockswap_range_release(&r), EINVAL);
      EXPECT_EQ(probe(0, UINT64_MAX, kExclusive), 0);
    }
  }
}

TEST_P(RangesOfRwLocks, WhoGivesUpHasNothing) {
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 100, 110, kShared), 0);
  const timespec past{0, 0};
  std::thread([&] {
    lockswap_range other;
    EXPECT_EQ(lockswap_range_timed_acquire(&lock, &other, 0, 200, kExclusive, &past), ETIMEDOUT);
    EXPECT_EQ(
        lockswap_range_clock_acquire(&lock, &other, 0, 200, kExclusive, CLOCK_MONOTONIC, &past),
        ETIMEDOUT);
    EXPECT_EQ(lockswap_range_release(&other), EINVAL);
  }).join();
  EXPECT_EQ(lockswap_range_release(&r), 0);
  EXPECT_EQ(probe(0, UINT64_MAX, kExclusive), 0);
}

TEST_P(RangesOfRwLocks, WrongArguments) {
  lockswap_range r;
  EXPECT_EQ(lockswap_range_acquire(&lock, &r, 5, 5, kExclusive), EINVAL);
  EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, 1, 2), EINVAL);
}

TEST_P(RangesOfRwLocks, LeaveNoMemoryBehind) {
  const auto pages = [] {
    std::uint64_t n = 0;
    std::ifstream("/proc/self/statm") >> n;
    return n;
  };
  const auto live = [&] {
    lockswap_range r;
    EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, kExclusive), 0);
    EXPECT_EQ(lockswap_range_release(&r), 0);
    TearDown();
    SetUp();
  };
  live();
  const std::uint64_t before = pages();
  for (int i = 0; i < 200; ++i)
    live();
  EXPECT_LT(pages(), before + 200) << "each lock left a page or more";
}

TEST(RangeAttributesOfRwLocks, WrongValues) {
  lockswap_range_lock_attr attr;
  ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "rwlock:"), EINVAL);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "rwlock:list-ex"), EINVAL);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "list-ex:ba"), EINVAL);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "rwlock:bravo-pthread"), ENOTSUP);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "rwlock:bravo-asym-pthread"),
            ENOTSUP);
  EXPECT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "pnova-rw:auto"), ENOTSUP);
  EXPECT_EQ(lockswap_range_lock_attr_set_segment(&attr, 0), EINVAL);
}

}  // namespace
