// Rows (readers/rows.h): which thread gets which row, what stays when threads end, and a lock over
// rows.
#include "readers/rows.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "locks/common/events.h"
#include "locks/rw/rlu.h"
#include "locks/rw/unbiased.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "wait/park.h"

namespace lockswap::rows_test {
namespace {

using AllRows = Rows<Native>;
using Contract =
    RwContract<Native, Park<Native>, Unbiased<Native, Rlu<Native, Park<Native>>, CountNothing>,
               CountNothing>;
constexpr std::uint32_t kSections = AllRows::kSections;

struct Lock {
  Contract::Frame frame;
  Lock() { Contract::adopt(frame); }
  ~Lock() { Contract::destroy(frame); }
  int read() {
    const std::uint64_t rest = Contract::fast_read(frame);
    return rest == 0 ? 0 : Contract::slow_read(frame, rest, nullptr);
  }
  int try_read() { return Contract::read_lock(frame, {.only_try = true}); }
  int try_write() { return Contract::write_lock(frame, {.only_try = true}); }
  int write() { return Contract::write_lock(frame); }
  int unlock() {
    std::uint32_t token = 0;
    if (Contract::has_only_hold(frame, token)) return Contract::fast_read_unlock(frame, token);
    return Contract::slow_unlock(frame);
  }
  bool idle() const { return frame.core.idle(); }
  int sections() const {
    int n = 0;
    AllRows::each_of(frame.key(), [&n](std::uint32_t, std::uint64_t) {
      ++n;
      return true;
    });
    return n;
  }
};

class RowsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(Contract::prepare()); }
};

TEST_F(RowsTest, ASectionNamesItsDomainAndNoOther) {
  for (const std::uint64_t domain : {std::uint64_t{8}, std::uint64_t{0x7fff'ffff'fff8},
                                     std::uint64_t{0xffff'ffff'fff8}, std::uint64_t{1} << 32}) {
    for (const std::uint64_t clock : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::uint64_t word = AllRows::section_word(domain, clock);
      EXPECT_NE(word, 0u);
      EXPECT_EQ(word & AllRows::kSleepers, 0u);
      // A sleeper watches the lower half.
      EXPECT_NE(static_cast<std::uint32_t>(word | AllRows::kSleepers), 0u);
      EXPECT_TRUE(AllRows::names(word, domain));
      EXPECT_TRUE(AllRows::names(word | AllRows::kSleepers, domain));
      EXPECT_FALSE(AllRows::names(word, domain ^ 8));
      EXPECT_FALSE(AllRows::names(word, domain ^ (std::uint64_t{1} << 47)));
      EXPECT_NE(word, AllRows::section_word(domain, clock + 1));
    }
  }
  EXPECT_FALSE(AllRows::names(0, 8));
}

TEST_F(RowsTest, ThreadsThatFollowEachOtherShareARow) {
  const std::uint32_t mine = AllRows::find_place();
  ASSERT_NE(mine, 0u);
  EXPECT_EQ(AllRows::find_place(), mine);
  std::uint32_t first = 0;
  for (int i = 0; i < 100; ++i) {
    std::thread([&] {
      const std::uint32_t place = AllRows::find_place();
      EXPECT_NE(place, 0u);
      EXPECT_NE(AllRows::row_of(place), AllRows::row_of(mine));
      if (first == 0) first = place;
      EXPECT_EQ(place, first);
    }).join();
  }
}

TEST_F(RowsTest, ThreadsThatLiveAtOnceHaveARowEach) {
  constexpr int kThreads = 50;
  std::array<std::uint32_t, kThreads> places{};
  std::atomic<int> here{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      places[static_cast<std::size_t>(i)] = AllRows::find_place();
      here.fetch_add(1);
      while (here.load() != kThreads)
        std::this_thread::yield();
    });
  }
  for (std::thread& t : threads)
    t.join();
  std::sort(places.begin(), places.end());
  EXPECT_NE(places[0], 0u);
  EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end());
}

TEST_F(RowsTest, AReaderFillsOneSectionAndEmptiesIt) {
  Lock lock;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(lock.read(), 0);
    EXPECT_EQ(lock.sections(), 1);
    EXPECT_EQ(lock.try_write(), EBUSY);
    ASSERT_EQ(lock.read(), 0);  // recursive
    EXPECT_EQ(lock.sections(), 1);
    EXPECT_EQ(lock.unlock(), 0);
    EXPECT_EQ(lock.unlock(), 0);
    EXPECT_EQ(lock.sections(), 0);
    EXPECT_TRUE(lock.idle());
    ASSERT_EQ(lock.try_write(), 0);
    EXPECT_EQ(lock.unlock(), 0);
  }
}

// More locks at once than a row has sections: the others' own lines.
TEST_F(RowsTest, AThreadMayHoldMoreLocksThanSections) {
  std::vector<std::unique_ptr<Lock>> locks;
  for (std::uint32_t i = 0; i < kSections + 5; ++i)
    locks.push_back(std::make_unique<Lock>());
  std::thread([&] {
    for (std::uint32_t i = 0; i < locks.size(); ++i) {
      ASSERT_EQ(locks[i]->read(), 0);
      EXPECT_EQ(locks[i]->sections(), i < kSections ? 1 : 0);
      EXPECT_EQ(locks[i]->try_write(), EBUSY);
    }
    for (std::uint32_t i = 0; i < locks.size(); i += 2)
      EXPECT_EQ(locks[i]->unlock(), 0);
    // Places that were given up are had again.
    ASSERT_EQ(locks[0]->read(), 0);
    EXPECT_EQ(locks[0]->sections(), 1);
    EXPECT_EQ(locks[0]->unlock(), 0);
    for (std::uint32_t i = 1; i < locks.size(); i += 2)
      EXPECT_EQ(locks[i]->unlock(), 0);
  }).join();
  for (const auto& lock : locks) {
    EXPECT_TRUE(lock->idle());
    EXPECT_EQ(lock->try_write(), 0);
    EXPECT_EQ(lock->unlock(), 0);
  }
}

// The holds of a thread that ended stay; the next thread does not touch them.
TEST_F(RowsTest, HoldsOfAThreadThatEndedStay) {
  std::vector<std::unique_ptr<Lock>> held;
  for (std::uint32_t i = 0; i < kSections; ++i)
    held.push_back(std::make_unique<Lock>());
  Lock other;
  std::uint32_t full = 0;
  std::thread([&] {
    full = AllRows::row_of(AllRows::find_place());
    for (const auto& lock : held)
      ASSERT_EQ(lock->read(), 0);
  }).join();
  const auto next = [&] {
    std::uint32_t row = 0;
    std::thread([&] {
      ASSERT_EQ(other.read(), 0);
      EXPECT_EQ(other.sections(), 1);
      EXPECT_EQ(other.unlock(), 0);
      row = AllRows::row_of(AllRows::find_place());
    }).join();
    return row;
  };
  EXPECT_NE(next(), full);  // no place is left there
  for (const auto& lock : held) {
    EXPECT_EQ(lock->sections(), 1);
    EXPECT_EQ(lock->try_write(), EBUSY);
  }
  EXPECT_EQ(held[0]->unlock(), 0);  // by this thread
  EXPECT_EQ(held[0]->sections(), 0);
  EXPECT_EQ(next(), full);
  EXPECT_EQ(held[1]->sections(), 1);
  for (std::uint32_t i = 1; i < kSections; ++i)
    EXPECT_EQ(held[i]->unlock(), 0);
  for (const auto& lock : held) {
    EXPECT_EQ(lock->try_write(), 0);
    EXPECT_EQ(lock->unlock(), 0);
    EXPECT_TRUE(lock->idle());
  }
}

TEST_F(RowsTest, ALockWhereOneWasHeldIsFree) {
  alignas(Lock) std::byte memory[sizeof(Lock)];
  auto* lock = new (memory) Lock;
  std::thread([&] { ASSERT_EQ(lock->read(), 0); }).join();
  EXPECT_EQ(lock->try_write(), EBUSY);
  lock = new (memory) Lock;  // not destroyed
  EXPECT_EQ(lock->try_write(), 0);
  EXPECT_EQ(lock->unlock(), 0);
  ASSERT_EQ(lock->read(), 0);
  EXPECT_EQ(lock->sections(), 1);
  EXPECT_EQ(lock->unlock(), 0);
  EXPECT_EQ(lock->try_write(), 0);
  EXPECT_EQ(lock->unlock(), 0);
  lock->~Lock();
}

// A thread has no hold left after another thread released its only one.
TEST_F(RowsTest, AReleaseByAnotherThreadEndsTheRows) {
  Lock lock;
  ASSERT_EQ(lock.read(), 0);
  std::thread([&] { EXPECT_EQ(lock.unlock(), 0); }).join();
  EXPECT_EQ(lock.sections(), 0);
  EXPECT_EQ(lock.try_write(), 0);
  EXPECT_EQ(lock.unlock(), 0);
  ASSERT_EQ(lock.read(), 0);
  EXPECT_EQ(lock.sections(), 0);  // in line, from now on
  EXPECT_EQ(lock.unlock(), 0);
  EXPECT_EQ(lock.unlock(), EPERM);
  EXPECT_TRUE(lock.idle());
}

}  // namespace
}  // namespace lockswap::rows_test
