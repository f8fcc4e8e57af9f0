// The claim of `eventual` with the kernel's clock and queue, where exploration has its own: of
// those that wait, the oldest is next at each hand-off, though a thread that runs takes the lock
// again and again.
#include "locks/mutex/eventual.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

#include "asleep.h"
#include "locks/common/events.h"
#include "locks/rw/eventual.h"
#include "locks/rw/unbiased.h"
#include "platform/adaptive/spins.h"
#include "platform/adaptive/yield_policy.h"
#include "platform/native.h"
#include "platform/thread.h"
#include "platform/wait_events.h"
#include "posix/mutex_contract.h"
#include "posix/rw_contract.h"
#include "real_time.h"
#include "wait/park.h"

namespace lockswap::eventual_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A queued thread that rechecks goes to the end of the kernel's queue. This one does so after 10 s,
// the longest that there is.
struct SeldomRechecks : Native {
  static std::uint64_t take_back() noexcept { return 3'600'000'000'000; }
};
struct AsMutex {
  EventualMutex<SeldomRechecks, Park<SeldomRechecks>> lock;
  void acquire() { lock.lock(); }
  void release() { lock.unlock(); }
};
struct AsWriter {
  EventualRw<SeldomRechecks, Park<SeldomRechecks>> lock;
  void acquire() { lock.write_lock(); }
  void release() { lock.write_unlock(); }
};

std::atomic<int> handled;

struct Served {
  std::vector<int> order;
  std::uint32_t hand_offs = 0;
};
// Threads come one after the other and wait; then this one releases and acquires without a pause,
// until all have had the lock. `interrupted`: a handler has run in the last one.
template <class L>
Served order_of_waiters(int waiters, bool interrupted) {
  Spins::prepare(0, {.allowed = 2});  // nobody naps, whatever locks at this address have learned
  L l;
  l.acquire();
  Served found;
  std::atomic<int> served = 0;
  std::deque<Sleeper> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&, i] {
      l.acquire();
      found.order.push_back(i);
      found.hand_offs += per_thread<WaitEvents>.hand_offs;
      l.release();
      ++served;
    });
    threads.back().until_asleep();
  }
  for (int i = 0; interrupted && i < 5; ++i) {
    const int before = handled;
    pthread_kill(threads.back().thread().native_handle(), SIGUSR1);
    while (handled == before)
      std::this_thread::sleep_for(milliseconds(1));
    threads.back().until_asleep();
  }
  while (served != waiters) {
    l.release();
    l.acquire();
  }
  l.release();
  for (auto& t : threads)
    t.join();
  EXPECT_TRUE(l.lock.idle());
  return found;
}

template <class L>
class EventualTest : public testing::Test {};
using Locks = testing::Types<AsMutex, AsWriter>;
TYPED_TEST_SUITE(EventualTest, Locks);

// Once in some hundred rounds a thread that was woken in vain is not asleep again when the next one
// is woken, and then a younger one is. By chance a round of four is right once in 24 times.
template <class L>
void expect_order(bool interrupted) {
  constexpr int kRounds = 20;
  int in_order = 0;
  std::uint32_t hand_offs = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Served found = order_of_waiters<L>(4, interrupted);
    in_order += found.order == std::vector<int>{0, 1, 2, 3} ? 1 : 0;
    hand_offs += found.hand_offs;
  }
  EXPECT_GE(in_order, kRounds / 2);
  EXPECT_GT(hand_offs, 0u);  // now and then the lock may be free as a thread wakes up
}

TYPED_TEST(EventualTest, TheOldestIsNext) { expect_order<TypeParam>(false); }

// A handler that runs in a sleeping thread gives it no place before those that came earlier.
TYPED_TEST(EventualTest, TheOldestIsNextBesideSignals) {
  struct sigaction handles {
  }, before;
  handles.sa_handler = [](int) { ++handled; };
  sigaction(SIGUSR1, &handles, &before);
  expect_order<TypeParam>(true);
  sigaction(SIGUSR1, &before, nullptr);
}

// While it lives the calling thread, and those that it starts, run on one processor.
class OneProcessor {
 public:
  OneProcessor() {
    EXPECT_EQ(0, sched_getaffinity(0, sizeof before_, &before_));
    EXPECT_TRUE(stay_on_one_processor());
  }
  ~OneProcessor() { EXPECT_EQ(0, sched_setaffinity(0, sizeof before_, &before_)); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};
// Keeps the calling thread from taking the processor when it is woken, before it is in anybody's
// way.
void wait_for_turns() {
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

// A thread that has woken another one, and goes on taking and releasing the lock on the only
// processor that both may use, lets the other one run before the next tick.
TEST(EventualYields, ACalledThreadRunsBesideOneThatGoesOn) {
  const OneProcessor here;
  Spins::prepare(0, {.allowed = 2});  // nobody naps, whatever locks at this address have learned
  constexpr int kRounds = 30;
  constexpr unsigned kTurns = 4 * YieldPolicy::kReleases;  // far less than a tick
  int came = 0;
  for (int round = 0; round < kRounds; ++round) {
    EventualRw<Native, Park<Native>> lock;
    std::atomic<bool> second_was_in = false;
    lock.write_lock();
    Sleeper first([&] {
      lock.write_lock();
      for (unsigned i = 0; i < kTurns; ++i) {
        lock.write_unlock();
        lock.write_lock();
      }
      if (second_was_in) ++came;
      lock.write_unlock();
    });
    first.until_asleep();
    Sleeper second([&] {
      wait_for_turns();
      lock.write_lock();
      second_was_in = true;
      lock.write_unlock();
    });
    second.until_asleep();
    lock.write_unlock();
    first.join();
    second.join();
    EXPECT_TRUE(lock.idle());
  }
  // By a tick that comes at that moment a few would come, too.
  EXPECT_GE(came, kRounds / 2);
}
// The same of a writer that a reader has woken, and that readers go on past.
TEST(EventualYields, AWokenWriterRunsBesideReadersThatGoOn) {
  const OneProcessor here;
  // So that it demands the lock after the round, however long the machine lets that take.
  Native::set_hand_off_after(60'000'000'000);
  Spins::prepare(0, {.allowed = 2});  // as above
  constexpr int kRounds = 30;
  constexpr unsigned kTurns = 2 * YieldPolicy::kHeadReleases;  // far less than a tick
  int ran = 0;
  for (int round = 0; round < kRounds; ++round) {
    EventualRw<Native, Park<Native>> lock;
    const auto write = [&] {
      wait_for_turns();
      lock.write_lock();
      lock.write_unlock();
    };
    ASSERT_TRUE(lock.try_read_lock());
    Sleeper first(write);  // the lock has never been handed off, so that it demands it at once
    first.until_asleep();
    lock.read_unlock();
    first.join();
    ASSERT_TRUE(lock.try_read_lock());
    Sleeper second(write);
    second.until_asleep();
    const unsigned long sleeps = second.sleeps();
    lock.read_unlock();
    ASSERT_TRUE(lock.try_read_lock());
    for (unsigned i = 0; i < kTurns; ++i) {
      ASSERT_TRUE(lock.try_read_lock());
      lock.read_unlock();
    }
    if (second.sleeps() != sleeps) ++ran;
    lock.read_unlock();
    second.join();
    EXPECT_TRUE(lock.idle());
  }
  Native::set_hand_off_after(500'000);
  EXPECT_GE(ran, kRounds / 2);
}

// A reader comes in past a writer that waits for another reader, each time after the same patience.
TEST(EventualReaders, PatienceBeginsAnewWhenTheWriterWasIn) {
  Native::set_hand_off_after(0);
  EventualRw<Native, Park<Native>> lock;
  for (int round = 0; round < 6; ++round) {
    ASSERT_EQ(0u, lock.read_arrive());
    std::thread writer([&] {
      lock.write_lock();
      lock.write_unlock();
    });
    while (lock.try_read_lock()) {  // until the lock is kept for the writer
      lock.read_unlock();
      std::this_thread::sleep_for(milliseconds(1));
    }
    std::uint32_t attempt = lock.read_arrive();
    const Deadline soon = {CLOCK_MONOTONIC, kNoTime, 1'000'000};
    int periods = 1;
    for (; attempt != 0 && !lock.read_wait(attempt, &soon) && periods < 100; ++periods) {}
    EXPECT_LE(periods, 3) << "round " << round;
    lock.read_unlock();
    lock.read_unlock();
    writer.join();
  }
  EXPECT_TRUE(lock.idle());
  Native::set_hand_off_after(500'000);
}

// Counts the events of all locks that it is given to.
struct Counter {
  static constexpr bool kCounts = true;
  using Slow = Counter;
  static constexpr bool is_on() noexcept { return true; }
  static inline std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Event::kCount)> n{};
  static void on(const void*, Event e, std::uint64_t by = 1) noexcept { of(e) += by; }
  static std::atomic<std::uint64_t>& of(Event e) noexcept { return n[static_cast<std::size_t>(e)]; }
};

// A hand-off is counted by the thread that has got the lock, a phase by the writer that has left.
TEST(EventualStatistics, HandOffsAndPhasesAreCounted) {
  using W = Park<Native>;
  using Mutex = MutexContract<Native, EventualMutex<Native, W>, Counter>;
  using RwLock = RwContract<Native, W, Unbiased<Native, EventualRw<Native, W>, Counter>, Counter>;
  Native::set_hand_off_after(0);

  Mutex::Frame mutex{};
  Mutex::begin(mutex);
  const auto pass = [&mutex] {
    Mutex::lock(mutex);
    Mutex::unlock(mutex);
  };
  pass();
  // The thread has said by now what it had seen in other tests.
  for (std::atomic<std::uint64_t>& n : Counter::n)
    n = 0;
  pass();
  EXPECT_EQ(0u, Counter::of(Event::mutex_hand_off));
  Mutex::lock(mutex);
  Sleeper waiter(pass);
  waiter.until_asleep();
  Mutex::unlock(mutex);
  waiter.join();
  EXPECT_EQ(1u, Counter::of(Event::mutex_hand_off));

  RwLock::prepare();
  RwLock::Frame lock{};
  RwLock::begin(lock);
  RwLock::write_lock(lock);
  Sleeper reader([&lock] {
    RwLock::read_lock(lock, {});
    RwLock::slow_unlock(lock);
  });
  reader.until_asleep();
  RwLock::write_unlock(lock);
  reader.join();
  EXPECT_EQ(1u, Counter::of(Event::phase));
  EXPECT_EQ(0u, Counter::of(Event::hand_off));
  RwLock::read_lock(lock, {});
  Sleeper writer([&lock] {
    RwLock::write_lock(lock);
    RwLock::write_unlock(lock);
  });
  writer.until_asleep();
  RwLock::slow_unlock(lock);
  writer.join();
  EXPECT_EQ(1u, Counter::of(Event::hand_off));
  EXPECT_EQ(1u, Counter::of(Event::phase));
  Native::set_hand_off_after(500'000);
}

// Under a mutex. A short timer would cost a virtual machine more than the rest of the sleep.
TEST(EventualMutexTest, AFrontThatNobodyPassesAsksForNoHandOff) {
  const std::uint64_t before = Native::hand_off_after();
  Native::set_hand_off_after(200'000'000);
  const auto begin = Clock::now();
  AsMutex l;
  l.acquire();
  std::uint32_t hand_offs = 0;
  std::thread waiter([&] {
    l.acquire();
    l.release();
    hand_offs = per_thread<WaitEvents>.hand_offs;
  });
  std::this_thread::sleep_for(milliseconds(300));
  l.release();
  // After eight times 200 ms it asks for one.
  const bool was_soon = Clock::now() - begin < milliseconds(8 * 200);
  waiter.join();
  EXPECT_TRUE(hand_offs == 0u || !was_soon);
  Native::set_hand_off_after(before);
}

}  // namespace
}  // namespace lockswap::eventual_test
