// The cohort mutex by itself: which waiter gets it next; and readers of `cohort` must have a turn.
#include "locks/rw/cohort.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "asleep.h"
#include "locks/common/cohorting.h"
#include "locks/mutex/ticket.h"
#include "platform/native.h"
#include "wait/park.h"
#include "wait/yield.h"

namespace lockswap::cohort_test {
namespace {

template <class W>
class TicketTest : public testing::Test {};
// Spinning is the same source as yield, and needs a processor for each thread.
using WaitPolicies = testing::Types<Park<Native>, Yield<Native>>;
TYPED_TEST_SUITE(TicketTest, WaitPolicies);

TYPED_TEST(TicketTest, OneAtATime) {
  Ticket<Native, TypeParam> lock;
  long n = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        if (i % 3 != 0) {
          lock.lock();
        } else {
          while (!lock.try_lock())
            sched_yield();
        }
        ++n;
        lock.unlock();
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(n, 6'000);
  EXPECT_TRUE(lock.idle());
}

TYPED_TEST(TicketTest, FirstComeFirstServed) {
  Ticket<Native, TypeParam> lock;
  lock.lock();
  EXPECT_FALSE(lock.contended());
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      lock.lock();
      order.push_back(t);
      lock.unlock();
    });
    while (lock.waiting() != static_cast<std::uint32_t>(t) + 1)
      sched_yield();
  }
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(lock.idle());
}

// One thread of node 1 and three of node 0 wait, while a thread of node 0 holds the lock.
TEST(CohortMutex, StaysOnANodeForSoLongAndNoLonger) {
  constexpr std::uint32_t kMost = 2;
  using Plain = Ticket<Native, Park<Native>>;
  using Mutex = Cohorting<Native, Plain, Plain, kMost>;
  Plain global;
  Mutex::Node nodes[2];
  std::vector<int> order;
  std::vector<std::thread> threads;
  Mutex::lock(global, nodes[0]);
  const auto waiter = [&](int node) {
    threads.emplace_back([&, node] {
      Mutex::lock(global, nodes[node]);
      order.push_back(node);
      Mutex::unlock(global, &nodes[node]);
    });
  };
  waiter(1);
  while (!global.contended())
    sched_yield();
  EXPECT_TRUE(Mutex::contended(global, &nodes[0]));
  EXPECT_FALSE(nodes[0].lock.contended());
  for (int i = 0; i < 3; ++i)
    waiter(0);
  while (nodes[0].lock.waiting() != 3)
    sched_yield();
  Mutex::unlock(global, &nodes[0]);
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(order, (std::vector<int>{0, 0, 1, 0}));
  EXPECT_TRUE(global.idle() && nodes[0].lock.idle() && nodes[1].lock.idle());
}

// A thread that has only the global lock passes it on to the thread that waits for that.
TEST(CohortMutex, WithoutANode) {
  using Plain = Ticket<Native, Park<Native>>;
  using Mutex = Cohorting<Native, Plain, Plain, 1>;
  Plain global;
  Mutex::Node node{};
  ASSERT_TRUE(global.try_lock());
  EXPECT_FALSE(Mutex::contended(global, nullptr));
  std::thread waiter([&] {
    Mutex::lock(global, node);
    Mutex::unlock(global, &node);
  });
  while (!global.contended())
    sched_yield();
  EXPECT_TRUE(Mutex::contended(global, nullptr));
  Mutex::unlock(global, nullptr);
  waiter.join();
  EXPECT_TRUE(global.idle() && node.lock.idle());
}

template <class W>
class CohortRwTest : public testing::Test {};
TYPED_TEST_SUITE(CohortRwTest, WaitPolicies);

// Writers that never rest keep kPresent set among themselves. If readers had no turn, this would
// not end.
TYPED_TEST(CohortRwTest, ReadersGetInBesideWritersThatNeverRest) {
  Native::set_pretence({2, 4, 1});
  ASSERT_TRUE((CohortRw<Native, TypeParam>::prepare()));
  CohortRw<Native, TypeParam> lock;
  std::atomic<bool> stop{false};
  long a = 0, b = 0;
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        lock.write_lock();
        ++a;
        ++b;
        lock.write_unlock();
      }
    });
  }
  int bad = 0;
  for (int i = 0; i < 50; ++i) {
    std::uint32_t token = lock.read_arrive();
    if (token >= kMustWait) lock.read_wait(token, nullptr);
    bad += a == b ? 0 : 1;
    EXPECT_TRUE(lock.read_unlock(token));
  }
  stop.store(true);
  for (auto& t : writers)
    t.join();
  EXPECT_EQ(bad, 0);
  EXPECT_TRUE(lock.idle());
  lock.destroy();
  Native::set_pretence({});
}

// More writers are in the queue than may go in a row while a reader waits. Returns how many did,
// from the one that the reader met.
template <class Lock>
int writers_in_a_row() {
  constexpr int kQueued = static_cast<int>(Native::kMostInARow) + 8;
  Lock lock;
  int written = 1, seen = 0;
  std::vector<std::unique_ptr<Sleeper>> threads;
  lock.write_lock();
  for (int i = 0; i < kQueued; ++i) {
    threads.push_back(std::make_unique<Sleeper>([&] {
      lock.write_lock();
      ++written;
      lock.write_unlock();
    }));
  }
  threads.push_back(std::make_unique<Sleeper>([&] {
    std::uint32_t token = lock.read_arrive();
    if (token >= kMustWait) lock.read_wait(token, nullptr);
    seen = written;
    EXPECT_TRUE(lock.read_unlock(token));
  }));
  for (const auto& t : threads)
    t->until_asleep();
  lock.write_unlock();
  for (const auto& t : threads)
    t->join();
  EXPECT_EQ(written, 1 + kQueued);
  EXPECT_TRUE(lock.idle());
  lock.destroy();
  return seen;
}
TEST(CohortRwTurns, ComeAfterSoManyWriters) {
  Native::set_pretence({2, 4, 1});
  using W = Park<Native>;
  ASSERT_TRUE((CohortRw<Native, W>::prepare()));
  EXPECT_EQ((writers_in_a_row<CohortRw<Native, W>>()), static_cast<int>(Native::kMostInARow));
  EXPECT_EQ((writers_in_a_row<CohortRwNeutral<Native, W>>()), 1);
  EXPECT_EQ((writers_in_a_row<CohortRwReaders<Native, W>>()), 1);
  Native::set_pretence({});
}

// A writer waits while this thread reads. Another read gets in if readers go first.
template <class Lock>
bool lets_readers_in(int tries) {
  Lock lock;
  std::uint32_t first = lock.read_arrive(), next = 0;
  EXPECT_LT(first, kMustWait);
  std::thread writer([&] {
    lock.write_lock();
    lock.write_unlock();
  });
  bool in = true;
  for (int i = 0; in && i != tries; ++i) {
    in = lock.try_read_lock(next);
    if (in) {
      EXPECT_TRUE(lock.read_unlock(next));
    }
    if (tries > 0) {
      usleep(1'000);  // for the writer to come
    } else {
      sched_yield();
    }
  }
  EXPECT_TRUE(lock.read_unlock(first));
  writer.join();
  EXPECT_TRUE(lock.idle());
  lock.destroy();
  return in;
}
// As above, but some read is always held, so that the writer may never find the lock without
// readers. Returns true once the writer has stopped new reads.
template <class Lock>
bool loses_patience() {
  Lock lock;
  std::uint32_t one = lock.read_arrive(), other = 0;
  EXPECT_LT(one, kMustWait);
  std::thread writer([&] {
    lock.write_lock();
    lock.write_unlock();
  });
  while (lock.try_read_lock(other)) {
    EXPECT_TRUE(lock.read_unlock(one));
    std::swap(one, other);
    sched_yield();
  }
  EXPECT_TRUE(lock.read_unlock(one));
  writer.join();
  EXPECT_TRUE(lock.idle());
  lock.destroy();
  return true;
}

TYPED_TEST(CohortRwTest, WhoGoesFirst) {
  Native::set_pretence({2, 4, 1});
  ASSERT_TRUE((CohortRw<Native, TypeParam>::prepare()));
  // The writer has come, at the latest, when a read is not let in: that loop ends.
  EXPECT_FALSE((lets_readers_in<CohortRw<Native, TypeParam>>(-1)));
  EXPECT_FALSE((lets_readers_in<CohortRwNeutral<Native, TypeParam>>(-1)));
  // Each read that ends takes two looks of the writer's patience at most.
  EXPECT_TRUE((lets_readers_in<CohortRwReaders<Native, TypeParam>>(Native::kMostInARow / 2)));
  EXPECT_TRUE((loses_patience<CohortRwReaders<Native, TypeParam>>()));
  Native::set_pretence({});
}

}  // namespace
}  // namespace lockswap::cohort_test
