// The functions of range_lock.h, as a program that links with the library calls them.
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "lockswap/range_lock.h"
#include "lockswap/range_lock.hpp"

extern "C" int api_in_c(void);

namespace {

constexpr int kExclusive = LOCKSWAP_RANGE_EXCLUSIVE;
constexpr int kShared = LOCKSWAP_RANGE_SHARED;

timespec in(clockid_t clock, long ms) {
  timespec t{};
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1'000'000;
  t.tv_sec += t.tv_nsec / 1'000'000'000;
  t.tv_nsec %= 1'000'000'000;
  return t;
}

// Runs `f` in another thread, to its end.
void elsewhere(const std::function<void()>& f) { std::thread(f).join(); }

// Whether that thread of this process is asleep: a waiter waits, by the policy `park`.
bool sleeps(pid_t id) {
  std::ifstream stat("/proc/self/task/" + std::to_string(id) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(stat), {});
  const auto name_ends = text.rfind(')');
  return name_ends != std::string::npos && text.compare(name_ends, 3, ") S") == 0;
}
// `id`: 0 until the thread has said what it is.
void until_asleep(const std::atomic<pid_t>& id) {
  while (id == 0 || !sleeps(id))
    std::this_thread::yield();
}

// A lock of each implementation and preference.
struct Variant {
  const char* implementation;
  int preference;
};

class RangeApi : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    lockswap_range_lock_attr attr;
    ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_implementation(&attr, GetParam().implementation), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_preference(&attr, GetParam().preference), 0);
    ASSERT_EQ(lockswap_range_lock_attr_set_segment(&attr, 4), 0);
    ASSERT_EQ(lockswap_range_lock_init(&lock, &attr), 0);
  }
  void TearDown() override { EXPECT_EQ(lockswap_range_lock_destroy(&lock), 0); }
  bool shares() const { return !std::string(GetParam().implementation).ends_with("-ex"); }
  // Those that wait are in a tree, and in the way of those that come later.
  bool queues() const {
    const std::string name = GetParam().implementation;
    return name == "lustre-ex" || name == "kernel-rw";
  }

  // What a try in another thread says.
  int probe(std::uint64_t start, std::uint64_t end, int mode) {
    int result = -1;
    elsewhere([&] {
      lockswap_range r;
      result = lockswap_range_try_acquire(&lock, &r, start, end, mode);
      if (result == 0) {
        EXPECT_EQ(lockswap_range_release(&r), 0);
      }
    });
    return result;
  }

  lockswap_range_lock lock;
};

INSTANTIATE_TEST_SUITE_P(All, RangeApi,
                         testing::Values(Variant{"list-ex", LOCKSWAP_RANGE_PREFER_READERS},
                                         Variant{"list-rw", LOCKSWAP_RANGE_PREFER_READERS},
                                         Variant{"LIST-RW", LOCKSWAP_RANGE_PREFER_WRITERS},
                                         Variant{"sharded-rw", LOCKSWAP_RANGE_PREFER_READERS},
                                         Variant{"sharded-rw", LOCKSWAP_RANGE_PREFER_WRITERS},
                                         Variant{"lustre-ex", LOCKSWAP_RANGE_PREFER_READERS},
                                         Variant{"kernel-rw", LOCKSWAP_RANGE_PREFER_READERS}));

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

// A writer waits for r, and a reader behind it waits for the writer alone, until r is exclusive.
TEST(RangeUpgrade, WhoWaitsWaitsOn) {
  lockswap_range_lock_attr attr;
  ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
  ASSERT_EQ(lockswap_range_lock_attr_set_implementation(&attr, "kernel-rw"), 0);
  lockswap_range_lock lock;
  ASSERT_EQ(lockswap_range_lock_init(&lock, &attr), 0);
  lockswap_range r;
  ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 4, kShared), 0);
  std::atomic<pid_t> writer_id{0};
  std::atomic<pid_t> reader_id{0};
  std::atomic<bool> exclusive{true};
  const auto waits = [&](std::atomic<pid_t>& id, std::uint64_t start, int mode) {
    id = gettid();
    lockswap_range mine;
    EXPECT_EQ(lockswap_range_acquire(&lock, &mine, start, 8, mode), 0);
    EXPECT_FALSE(exclusive);
    EXPECT_EQ(lockswap_range_release(&mine), 0);
  };
  std::thread writer([&] { waits(writer_id, 2, kExclusive); });
  until_asleep(writer_id);
  std::thread reader([&] { waits(reader_id, 3, kShared); });
  until_asleep(reader_id);
  EXPECT_EQ(lockswap_range_try_upgrade(&r), 0);
  exclusive = false;
  EXPECT_EQ(lockswap_range_release(&r), 0);
  writer.join();
  reader.join();
  EXPECT_EQ(lockswap_range_lock_destroy(&lock), 0);
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

TEST_P(RangeApi, InASteadyStateNothingIsAllocated) {
  lockswap_range_counts before{};
  lockswap_range_counts after{};
  // Beside another range: no fast path, so each node is taken out and used again.
  lockswap_range beside;
  ASSERT_EQ(lockswap_range_acquire(&lock, &beside, 100, 101, kExclusive), 0);
  for (int i = 0; i < 4000; ++i) {
    if (i == 1000) {
      ASSERT_EQ(lockswap_range_get_counts(&before), 0);
    }
    lockswap_range r;
    ASSERT_EQ(lockswap_range_acquire(&lock, &r, 0, 10, i % 2), 0);
    ASSERT_EQ(lockswap_range_release(&r), 0);
  }
  ASSERT_EQ(lockswap_range_get_counts(&after), 0);
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(lockswap_range_release(&beside), 0);
}

// One thread's nodes always come straight back to it, so it never runs out of them; what it takes
// out of the list are another's.
class Turns {
 public:
  void hand_over() {
    go_.release();
    done_.acquire();
  }
  void await() { go_.acquire(); }
  void done() { done_.release(); }

 private:
  std::binary_semaphore go_{0};
  std::binary_semaphore done_{0};
};

constexpr int kTurns = 3000;
// Of two threads that need a few at a time.
constexpr std::uint64_t kNodesOfTwo = 1024;

TEST_P(RangeApi, NodesOfAnotherThreadDoNotPileUpWhereOnesOwnComeStraightBack) {
  lockswap_range_counts before{};
  ASSERT_EQ(lockswap_range_get_counts(&before), 0);
  Turns turns;
  std::thread other([&] {
    for (int i = 0; i < kTurns; ++i) {
      lockswap_range r;
      turns.await();
      EXPECT_EQ(lockswap_range_try_acquire(&lock, &r, 0, 3, kExclusive), EBUSY);
      turns.done();
      turns.await();
      EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, 3, kExclusive), 0);
      EXPECT_EQ(lockswap_range_release(&r), 0);
      turns.done();
    }
  });
  for (int i = 0; i < kTurns; ++i) {
    lockswap_range r;
    EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, 3, kExclusive), 0);
    turns.hand_over();
    EXPECT_EQ(lockswap_range_release(&r), 0);
    turns.hand_over();
  }
  other.join();
  lockswap_range_counts after{};
  ASSERT_EQ(lockswap_range_get_counts(&after), 0);
  EXPECT_LE(after.nodes - before.nodes, kNodesOfTwo);
}

TEST_P(RangeApi, NodesOfAnotherThreadDoNotPileUpWhereTriesFail) {
  lockswap_range_counts before{};
  ASSERT_EQ(lockswap_range_get_counts(&before), 0);
  lockswap_range beside;
  ASSERT_EQ(lockswap_range_acquire(&lock, &beside, 2, 100, kExclusive), 0);
  Turns turns;
  std::thread other([&] {
    for (int i = 0; i < kTurns; ++i) {
      turns.await();
      lockswap_range r;
      EXPECT_EQ(lockswap_range_try_acquire(&lock, &r, 0, 4, kExclusive), EBUSY);
      turns.done();
    }
  });
  for (int i = 0; i < kTurns; ++i) {
    lockswap_range r;
    EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, 2, kExclusive), 0);
    EXPECT_EQ(lockswap_range_release(&r), 0);
    turns.hand_over();
  }
  other.join();
  EXPECT_EQ(lockswap_range_release(&beside), 0);
  lockswap_range_counts after{};
  ASSERT_EQ(lockswap_range_get_counts(&after), 0);
  EXPECT_LE(after.nodes - before.nodes, kNodesOfTwo);
}

// Who only destroys locks takes out what is left in them.
TEST_P(RangeApi, NodesDoNotPileUpWhereLocksAreDestroyed) {
  lockswap_range_counts before{};
  ASSERT_EQ(lockswap_range_get_counts(&before), 0);
  Turns turns;
  lockswap_range_lock other = LOCKSWAP_RANGE_LOCK_INITIALIZER;
  std::thread user([&] {
    for (int i = 0; i < kTurns; ++i) {
      turns.await();
      lockswap_range a;
      lockswap_range b;
      EXPECT_EQ(lockswap_range_acquire(&other, &a, 0, 2, kExclusive), 0);
      EXPECT_EQ(lockswap_range_acquire(&other, &b, 2, 4, kExclusive), 0);
      EXPECT_EQ(lockswap_range_release(&a), 0);
      EXPECT_EQ(lockswap_range_release(&b), 0);
      turns.done();
    }
  });
  lockswap_range_lock_attr attr;
  ASSERT_EQ(lockswap_range_lock_attr_init(&attr), 0);
  ASSERT_EQ(lockswap_range_lock_attr_set_implementation(&attr, GetParam().implementation), 0);
  for (int i = 0; i < kTurns; ++i) {
    ASSERT_EQ(lockswap_range_lock_init(&other, &attr), 0);
    turns.hand_over();
    EXPECT_EQ(lockswap_range_lock_destroy(&other), 0);
  }
  user.join();
  lockswap_range_counts after{};
  ASSERT_EQ(lockswap_range_get_counts(&after), 0);
  EXPECT_LE(after.nodes - before.nodes, kNodesOfTwo);
}

// There is always some narrow range that is held. Who waits for all of them gets in if the others
// let it. Only how long that may take is given up on, long after it must have come to pass.
TEST_P(RangeApi, AWideRangeGetsInBesideManyNarrowOnes) {
  constexpr std::uint64_t kNarrow = 12;
  constexpr std::uint64_t kUnits = 4;  // a segment
  constexpr std::uint64_t kPlaces =
      50;  // that each of them goes through, since sharded-rw has many lists
  constexpr int kTimes = 5;
  std::atomic<bool> stop{false};
  std::barrier begun(kNarrow + 1);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kNarrow; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; !stop; ++round) {
        lockswap_range r;
        const std::uint64_t at = (round % kPlaces * kNarrow + t) * kUnits;
        EXPECT_EQ(lockswap_range_acquire(&lock, &r, at, at + kUnits, kExclusive), 0);
        if (round == 0) begun.arrive_and_wait();
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        EXPECT_EQ(lockswap_range_release(&r), 0);
      }
    });
  }
  begun.arrive_and_wait();
  int had = 0;
  const timespec t = in(CLOCK_MONOTONIC, 60'000);
  std::thread wide([&] {
    // Acquisitions with a deadline are never impatient, so these have none.
    while (had < kTimes) {
      lockswap_range r;
      EXPECT_EQ(lockswap_range_acquire(&lock, &r, 0, kPlaces * kNarrow * kUnits, kExclusive), 0);
      had += stop ? 0 : 1;
      EXPECT_EQ(lockswap_range_release(&r), 0);
      if (stop) break;
    }
    stop = true;
  });
  while (!stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > t.tv_sec) stop = true;
  }
  wide.join();
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(had, kTimes);
}

TEST_P(RangeApi, ThreadsThatTakeOutEachOthersNodesStayWithinBounds) {
  const auto churn = [&](int pairs) {
    std::barrier all_supplied(4);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < pairs; ++i) {
          lockswap_range r;
          EXPECT_EQ(lockswap_range_acquire(&lock, &r, t * 10, t * 10 + 12, i % 2), 0);
          EXPECT_EQ(lockswap_range_release(&r), 0);
          if (i == 0) all_supplied.arrive_and_wait();
        }
      });
    }
    for (auto& t : threads)
      t.join();
  };
  lockswap_range_counts before{};
  lockswap_range_counts after{};
  churn(500);
  ASSERT_EQ(lockswap_range_get_counts(&before), 0);
  churn(2000);
  ASSERT_EQ(lockswap_range_get_counts(&after), 0);
  // One thread takes nodes, another takes them out: each supply may be as large as it gets. A
  // thread that the scheduler has stopped in the middle of a call costs more; that is counted.
  constexpr std::uint64_t kNodes = 128;
  EXPECT_LE(after.nodes, kNodes * (8 * after.threads + after.blocked));
  EXPECT_EQ(after.threads, before.threads) << "the new threads took over the old ones' supplies";
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
