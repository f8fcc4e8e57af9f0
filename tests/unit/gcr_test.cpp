// Concurrency restriction: how many threads reach the lock below at once, and that none of them is
// lost on the way.
#include "locks/mutex/gcr.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>
#include <utility>
#include <vector>

#include "locks/rw/gcr.h"
#include "platform/clock.h"
#include "platform/native.h"
#include "platform/thread.h"
#include "platform/wait_events.h"
#include "wait/park.h"

namespace lockswap::gcr_test {
namespace {

using W = Park<Native>;
constexpr int kThreads = 8;

// How many threads are between their arrival and their acquisition.
struct Watch {
  std::atomic<int> in{0}, most{0};
  std::atomic<bool> stops{false};  // the next to arrive stops on its way, until this is false
  std::atomic<bool> stopped{false};
  void arrive() {
    const int n = ++in;
    int before = most;
    while (before < n && !most.compare_exchange_weak(before, n)) {}
    if (!stopped && stops && !stopped.exchange(true)) stops.wait(true);
  }
  void enter() { --in; }
};
Watch watch;

struct WatchedTicket : Ticket<Native, W> {
  void lock() noexcept {
    watch.arrive();
    Ticket::lock();
    watch.enter();
  }
};
struct WatchedPfT : PfT<Native, W> {
  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    watch.arrive();
    PfT<Native, W>::write_lock(listener);
    watch.enter();
  }
};
using Mutex = GcrMutex<Native, W, WatchedTicket>;
using Rw = GcrRw<Native, W, WatchedPfT>;

class Gcr : public testing::Test {
 protected:
  void SetUp() override {
    watch.most = 0;
    watch.stops = watch.stopped = false;
    ASSERT_TRUE(Mutex::prepare());
    ASSERT_TRUE(Rw::prepare());
  }
  // Threads beyond this one, each of which calls f(its number).
  template <class F>
  void start(int n, const F& f) {
    for (int t = 0; t < n; ++t)
      threads_.emplace_back([f, t] { f(t); });
  }
  void join() {
    for (auto& t : threads_)
      t.join();
    threads_.clear();
  }
  // Calls f. A thread that waits for longer than the bound of a lane goes on without one.
  template <class F>
  void timed(const F& f) {
    const std::uint64_t begin = monotonic_ns();
    f();
    if (monotonic_ns() - begin >= Native::take_back()) waited_long_ = true;
  }
  void expect_as_many_as_processors() const {
    EXPECT_GE(watch.most, 1);
    EXPECT_TRUE(watch.most <= static_cast<int>(Native::cpus()) || waited_long_) << watch.most;
  }
  std::vector<std::thread> threads_;
  std::atomic<bool> waited_long_{false};
};

int processors() { return static_cast<int>(Native::cpus()); }

TEST_F(Gcr, AsManyWaitInTheLineAsThereAreProcessors) {
  Mutex lock;
  long n = 0;
  lock.lock();
  start(kThreads + processors(), [&](int) {
    for (int i = 0; i < 2'000; ++i) {
      timed([&] { lock.lock(); });
      ++n;
      lock.unlock();
    }
  });
  while (watch.in == 0)
    sched_yield();
  lock.unlock();
  join();
  EXPECT_EQ(n, 2'000L * (kThreads + processors()));
  expect_as_many_as_processors();
  EXPECT_TRUE(lock.idle());
  lock.destroy();
}

TEST_F(Gcr, SoDoWriters) {
  Rw lock;
  long n = 0, seen = 0;
  std::atomic<long> reads{0};
  lock.write_lock();
  start(kThreads + processors(), [&](int t) {
    for (int i = 0; i < 2'000; ++i) {
      if ((t + i) % 2 == 0) {
        timed([&] { lock.write_lock(); });
        ++n;
        lock.write_unlock();
      } else {
        std::uint32_t attempt = lock.read_arrive();
        if (attempt != 0) {
          ASSERT_TRUE(lock.read_wait(attempt, nullptr));
        }
        if (n >= seen) ++reads;
        lock.read_unlock();
      }
    }
  });
  while (watch.in == 0)
    sched_yield();
  lock.write_unlock();
  join();
  EXPECT_EQ(n, 1'000L * (kThreads + processors()));
  EXPECT_EQ(reads, n);
  expect_as_many_as_processors();
  EXPECT_TRUE(lock.idle());
  lock.destroy();
}

// The active set changes: lanes are handed to threads that sleep there, though others run.
TEST_F(Gcr, LanesAreHandedToThoseThatSleep) {
  Mutex lock;
  constexpr std::uint32_t kEnough = 2 * kThreads;
  std::atomic<std::uint32_t> hand_offs{0};
  int turns = 1'000'000;
  start(kThreads + processors(), [&](int) {
    for (bool more = true; more && hand_offs < kEnough;) {
      lock.lock();
      more = --turns > 0;
      const std::uint64_t leave = monotonic_ns() + 5'000;
      while (monotonic_ns() < leave) {}
      lock.unlock();
      hand_offs += std::exchange(per_thread<WaitEvents>.hand_offs, 0);
    }
  });
  join();
  EXPECT_GE(hand_offs, kEnough);
  EXPECT_TRUE(lock.idle());
  lock.destroy();
}

// A thread that has passed its lane stops before it arrives at the lock, which is free. Threads of
// the other lanes pass it at once, those of its own lane after P::take_back().
TEST_F(Gcr, AThreadThatStopsOnItsWayKeepsNobody) {
  Mutex lock;
  std::atomic<int> through{0};
  lock.lock();
  watch.stops = true;
  start(kThreads, [&](int) {
    lock.lock();
    ++through;
    through.notify_one();
    lock.unlock();
  });
  while (!watch.stopped)
    sched_yield();
  lock.unlock();
  for (int n; (n = through) < kThreads - 1;)
    through.wait(n);
  watch.stops = false;
  watch.stops.notify_one();
  join();
  EXPECT_EQ(through, kThreads);
  EXPECT_TRUE(lock.idle());
  lock.destroy();
}

TEST_F(Gcr, ADeadlineEndsTheWaitInALane) {
  Mutex lock;
  lock.lock();
  std::atomic<int> late{0};
  start(kThreads, [&](int) {
    const Deadline soon = deadline_in(monotonic_ns(), 20'000'000);
    if (!lock.lock_until(&soon)) ++late;
  });
  join();
  EXPECT_EQ(late, kThreads);
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  lock.destroy();
}

// A reader that is passive goes on when its patience is over, and then stands in the line: the
// contract lets it in from there.
TEST_F(Gcr, PatienceEndsInALaneToo) {
  Rw lock;
  lock.write_lock();
  std::atomic<int> standing{0};
  start(kThreads, [&](int) {
    std::uint32_t attempt = lock.read_arrive();
    ASSERT_NE(attempt, 0u);
    const std::uint32_t aside = attempt;
    const Deadline patience = {CLOCK_MONOTONIC, kNoTime, 5'000'000};
    ASSERT_FALSE(lock.read_wait(attempt, &patience));
    if (attempt != aside) ++standing;
    ASSERT_TRUE(lock.read_withdraw(attempt));
  });
  join();
  EXPECT_EQ(standing, kThreads);
  EXPECT_FALSE(lock.has_readers());
  std::uint32_t aside = lock.read_arrive();
  EXPECT_TRUE(lock.read_withdraw(aside));  // it was not counted in
  lock.write_unlock();
  EXPECT_EQ(lock.read_arrive(), 0u);
  lock.read_unlock();
  EXPECT_TRUE(lock.idle());
  lock.destroy();
}

}  // namespace
}  // namespace lockswap::gcr_test
