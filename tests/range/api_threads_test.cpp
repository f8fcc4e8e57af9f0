// Range locks that several threads use at the same time: memory, fairness, waiters.
#include <atomic>
#include <barrier>
#include <chrono>
#include <gtest/gtest.h>
#include <iterator>
#include <semaphore.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "api_fixture.h"
#include "lockswap/range_lock.h"

namespace {

class RangesOfManyThreads : public RangeApi {};
INSTANTIATE_TEST_SUITE_P(All, RangesOfManyThreads, all_variants());

TEST_P(RangesOfManyThreads, InASteadyStateNothingIsAllocated) {
  lockswap_range_counts before{};
  lockswap_range_counts after{};
  // Beside another range: no fast path, so each node is taken out and used again.
  lockswap_range other;
  ASSERT_EQ(lockswap_range_acquire(&lock, &other, 100, 101, kExclusive), 0);
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
  EXPECT_EQ(lockswap_range_release(&other), 0);
}

// One thread's nodes always come straight back to it, so it never runs out of them, while the nodes
// that it takes out of the list are another thread's. The two kinds of lists have the same pools.
class NodesOfOthers : public RangeApi {
 protected:
  void SetUp() override {
    RangeApi::SetUp();
    ASSERT_EQ(lockswap_range_get_counts(&before_), 0);
  }
  void TearDown() override {
    RangeApi::TearDown();
    lockswap_range_counts after{};
    ASSERT_EQ(lockswap_range_get_counts(&after), 0);
    EXPECT_LE(after.nodes - before_.nodes, kMost);
  }

  static constexpr int kTurns = 1200;
  // The most for two threads with one or two ranges at a time, with the nodes in their pools.
  static constexpr std::uint64_t kMost = 768;

  // The test's thread says when the other one does its part.
  class Turns {
   public:
    void hand_off() {
      sem_post(&go_);
      sem_wait(&done_);
    }
    void await() { sem_wait(&go_); }
    void done() { sem_post(&done_); }

   private:
    // (std::binary_semaphore yields before it sleeps, which takes for ever on a busy machine.)
    static sem_t closed() {
      sem_t s;
      sem_init(&s, 0, 0);
      return s;
    }
    sem_t go_ = closed();
    sem_t done_ = closed();
  };
  Turns turns;

 private:
  lockswap_range_counts before_{};
};

INSTANTIATE_TEST_SUITE_P(All, NodesOfOthers,
                         testing::Values(Variant{"list-rw", LOCKSWAP_RANGE_PREFER_READERS},
                                         Variant{"sharded-rw", LOCKSWAP_RANGE_PREFER_READERS}));

TEST_P(NodesOfOthers, DoNotPileUpWhereOnesOwnComeStraightBack) {
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
    turns.hand_off();
    EXPECT_EQ(lockswap_range_release(&r), 0);
    turns.hand_off();
  }
  other.join();
}

TEST_P(NodesOfOthers, DoNotPileUpWhereTriesFail) {
  lockswap_range second;
  ASSERT_EQ(lockswap_range_acquire(&lock, &second, 2, 100, kExclusive), 0);
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
    turns.hand_off();
  }
  other.join();
  EXPECT_EQ(lockswap_range_release(&second), 0);
}

// A thread that only destroys locks takes out the nodes that are left in them.
TEST_P(NodesOfOthers, DoNotPileUpWhereLocksAreDestroyed) {
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
    turns.hand_off();
    EXPECT_EQ(lockswap_range_lock_destroy(&other), 0);
  }
  user.join();
}

// Some narrow range is always held, so a thread that waits for all of them gets in only if the
// others let it. Counted is how many narrow ones are acquired while it waits.
class WideRanges : public RangesOfManyThreads {
 public:
  static constexpr std::uint64_t kNarrow = 12;
  static constexpr std::uint64_t kUnits = 4;  // a segment
  static constexpr std::uint64_t kPlaces =
      50;  // that each of them goes through, since sharded-rw has many lists
  // Some 60 are usual. Where nobody lets it in there are thousands.
  static constexpr std::uint64_t kMostNarrow = 2000;
  static constexpr int kTimes = 3;

  using Acquires = int (WideRanges::*)(lockswap_range&, std::uint64_t start, std::uint64_t end);

  void run(Acquires narrow, Acquires wide) {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> acquired{0};
    std::barrier begun(kNarrow + 1);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kNarrow; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t round = 0; !stop; ++round) {
          lockswap_range r;
          const std::uint64_t at = (round % kPlaces * kNarrow + t) * kUnits;
          EXPECT_EQ((this->*narrow)(r, at, at + kUnits), 0);
          if (round == 0) begun.arrive_and_wait();
          // More than the scheduler takes to wake somebody, by far.
          std::this_thread::sleep_for(std::chrono::milliseconds(10 + (7 * t + round) % 20));
          if (++acquired > kMostNarrow) stop = true;
          EXPECT_EQ(lockswap_range_release(&r), 0);
        }
      });
    }
    begun.arrive_and_wait();
    int had = 0;
    while (had < kTimes && !stop) {
      lockswap_range r;
      acquired = 0;
      EXPECT_EQ((this->*wide)(r, 0, kPlaces * kNarrow * kUnits), 0);
      had += stop ? 0 : 1;
      EXPECT_EQ(lockswap_range_release(&r), 0);
    }
    stop = true;
    for (auto& thread : threads)
      thread.join();
    EXPECT_EQ(had, kTimes);
  }
  int waits(lockswap_range& r, std::uint64_t start, std::uint64_t end) {
    return lockswap_range_acquire(&lock, &r, start, end, kExclusive);
  }
  // Gives up long after kMostNarrow only.
  int has_deadline(lockswap_range& r, std::uint64_t start, std::uint64_t end) {
    const timespec until = in(CLOCK_MONOTONIC, 600'000);
    return lockswap_range_clock_acquire(&lock, &r, start, end, kExclusive, CLOCK_MONOTONIC, &until);
  }
};

INSTANTIATE_TEST_SUITE_P(All, WideRanges, all_variants());

TEST_P(WideRanges, GetInBesideManyNarrowOnes) { run(&WideRanges::waits, &WideRanges::waits); }
TEST_P(WideRanges, GetInWithADeadline) { run(&WideRanges::waits, &WideRanges::has_deadline); }
TEST_P(WideRanges, GetInBesideNarrowOnesWithDeadlines) {
  run(&WideRanges::has_deadline, &WideRanges::waits);
}

TEST_P(RangesOfManyThreads, ThreadsThatTakeOutEachOthersNodesStayWithinBounds) {
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

// A child is forked while other threads are in the middle of acquisitions and releases. Units that
// none of them wants are free there.
TEST_P(RangesOfManyThreads, AChildGoesOnWhereOthersWereInTheMiddleOfACall) {
  constexpr std::uint64_t kFar = 1'000'000;
  constexpr int kChildren = 25;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = t; !stop; ++i) {
        // Several at a time, so that a tree has to be balanced.
        lockswap_range held[6];
        for (std::uint64_t h = 0; h < std::size(held); ++h) {
          const std::uint64_t at = (t * std::size(held) + (i + h) % std::size(held)) * 4;
          EXPECT_EQ(lockswap_range_acquire(&lock, &held[h], at, at + 4, kExclusive), 0);
        }
        for (auto& r : held)
          EXPECT_EQ(lockswap_range_release(&r), 0);
      }
    });
  }
  int wrong = 0;
  for (int i = 0; i < kChildren && wrong == 0; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int error = 0;
      for (std::uint64_t k = 0; k < 20 && error == 0; ++k) {
        lockswap_range r;
        error = lockswap_range_acquire(&lock, &r, kFar + k % 7, kFar + k % 7 + 3, kExclusive);
        if (error == 0) error = lockswap_range_release(&r);
      }
      _exit(error == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (status != 0) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
  stop = true;
  for (auto& t : threads)
    t.join();
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

}  // namespace
