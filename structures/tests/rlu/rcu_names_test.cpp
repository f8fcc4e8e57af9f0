// The names of RCU and its list API onto Read-Log-Update: what they do, and under threads.
#include "rcu_names.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <vector>

#include "lockswap/rlu.h"

namespace {

std::vector<int> walked(int which, bool backwards = false) {
  std::vector<int> numbers(64);
  const int n = list_walk(which, backwards ? 1 : 0, numbers.data(), 64);
  numbers.resize(static_cast<std::size_t>(n));
  return numbers;
}

class RcuList : public testing::Test {
 protected:
  static void SetUpTestSuite() { list_begin(); }
  void TearDown() override {
    for (void* e : entries)
      EXPECT_EQ(list_take(e), 0);
    EXPECT_EQ(lockswap_rlu_set_deferral(1), 0);
    EXPECT_EQ(lockswap_rlu_flush_all(), 0);
    EXPECT_TRUE(walked(0).empty());
    EXPECT_TRUE(walked(1).empty());
  }
  void put(int number, bool at_end = true) { entries.push_back(list_put(0, number, at_end)); }
  std::vector<void*> entries;
};

TEST_F(RcuList, IsInTheOrderOfItsAdditions) {
  put(2);
  put(3);
  put(1, false);
  EXPECT_EQ(walked(0), (std::vector{1, 2, 3}));
  EXPECT_EQ(walked(0, true), (std::vector{3, 2, 1}));
}

TEST_F(RcuList, LosesWhatIsTakenOut) {
  for (int i = 0; i < 4; ++i)
    put(i);
  EXPECT_EQ(list_take(entries[2]), 0);
  EXPECT_EQ(list_take(entries[0]), 0);
  entries = {entries[1], entries[3]};
  EXPECT_EQ(walked(0), (std::vector{1, 3}));
  EXPECT_EQ(walked(0, true), (std::vector{3, 1}));
}

TEST_F(RcuList, ReplacesInPlace) {
  for (int i = 0; i < 3; ++i)
    put(i);
  entries[1] = list_put_instead(entries[1], 7);
  EXPECT_EQ(walked(0), (std::vector{0, 7, 2}));
  EXPECT_EQ(walked(0, true), (std::vector{2, 7, 0}));
}

TEST_F(RcuList, MovesAnEntryInOneSection) {
  put(1);
  put(2);
  list_move(entries[0], 1);
  EXPECT_EQ(walked(0), (std::vector{2}));
  EXPECT_EQ(walked(1), (std::vector{1}));
}

TEST_F(RcuList, AChangeFailsInASectionWhileAnotherThreadHasTheNeighbour) {
  put(1);
  put(2);
  ASSERT_EQ(lockswap_rlu_set_deferral(10), 0);
  std::atomic<int> step{0};
  std::thread other([&] {
    lockswap_rlu_reader_lock();
    EXPECT_NE(lockswap_rlu_try_lock(entries[0]), nullptr);
    step = 1;
    step.notify_all();
    step.wait(1);
    EXPECT_EQ(lockswap_rlu_abort(), 0);
  });
  step.wait(0);
  lockswap_rlu_reader_lock();
  EXPECT_EQ(list_take(entries[1]), EBUSY);
  step = 2;
  step.notify_all();
  EXPECT_EQ(lockswap_rlu_abort(), 0);
  other.join();
  EXPECT_EQ(walked(0), (std::vector{1, 2}));
}

// Entries go from list to list and come and go, while each walk finds the same both ways, and each
// of the moved ones in one of both lists.
void let_threads_work(unsigned deferral) {
  constexpr int kMoved = 4;
  constexpr int kOwn = 100;  // numbers of entries that come and go
  ASSERT_EQ(lockswap_rlu_set_deferral(deferral), 0);
  std::vector<void*> moved;
  for (int i = 0; i < kMoved; ++i)
    moved.push_back(list_put(0, i, 1));
  ASSERT_EQ(lockswap_rlu_flush(), 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        list_move(moved[static_cast<std::size_t>(t) * 2 + static_cast<std::size_t>(i % 2)],
                  i / 2 % 2);
        void* const own = list_put(i % 2, kOwn + t, i % 3 == 0 ? 1 : 0);
        EXPECT_EQ(list_take(own), 0);
      }
    });
  }
  struct Seen {
    std::vector<int> forwards, backwards, both;
  };
  long walks = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(150);
  while (std::chrono::steady_clock::now() < end || walks < 100) {
    Seen seen;
    list_section(
        [](void* with) {
          auto& s = *static_cast<Seen*>(with);
          s.forwards = walked(0);
          s.backwards = walked(0, true);
          s.both = walked(1);
        },
        &seen);
    std::reverse(seen.backwards.begin(), seen.backwards.end());
    ASSERT_EQ(seen.forwards, seen.backwards);
    seen.both.insert(seen.both.end(), seen.forwards.begin(), seen.forwards.end());
    std::erase_if(seen.both, [](int n) { return n >= kOwn; });
    std::sort(seen.both.begin(), seen.both.end());
    std::vector<int> each(kMoved);
    std::iota(each.begin(), each.end(), 0);
    ASSERT_EQ(seen.both, each);
    ++walks;
  }
  stop = true;
  for (std::thread& t : threads)
    t.join();
  ASSERT_EQ(lockswap_rlu_set_deferral(1), 0);
  ASSERT_EQ(lockswap_rlu_flush_all(), 0);
  for (void* e : moved)
    ASSERT_EQ(list_take(e), 0);
}
TEST_F(RcuList, IsWholeUnderThreads) { let_threads_work(1); }
TEST_F(RcuList, IsWholeUnderThreadsThatDefer) { let_threads_work(10); }

TEST(RcuNames, AReaderSeesTheOldOrTheNew) {
  EXPECT_EQ(rcu_read(), 0);
  rcu_replace(1, 1);
  EXPECT_EQ(rcu_read(), 1);
  rcu_replace(2, 0);
  EXPECT_EQ(rcu_read(), 2);
  rcu_replace(0, 0);
  EXPECT_EQ(rcu_read(), 0);
  EXPECT_EQ(rcu_live(), 0);
}

TEST(RcuNames, NothingIsFreedUnderAReader) {
  rcu_replace(1, 1);
  std::atomic<bool> stop{false};
  std::atomic<long> reads{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        EXPECT_GT(rcu_read(), 0);
        reads.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (int i = 1; i <= 2000 || reads < 1000; ++i)
    rcu_replace(i, i % 2);
  stop = true;
  for (std::thread& t : readers)
    t.join();
  rcu_replace(0, 1);
  EXPECT_EQ(rcu_live(), 0);
}

}  // namespace
