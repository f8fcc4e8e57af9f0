// A lock `eventual` that is kept for a thread: what those get that poll meanwhile, or read, while
// that thread is about to come, or stopped in a signal handler.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>

#include "asleep.h"
#include "locks/mutex/eventual.h"
#include "locks/rw/eventual.h"
#include "platform/native.h"
#include "wait/park.h"

namespace lockswap::eventual_stopped_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::atomic<bool> is_stopped, may_go_on;

void stop(Sleeper& sleeper) {
  pthread_kill(sleeper.thread().native_handle(), SIGUSR1);
  while (!is_stopped)
    std::this_thread::sleep_for(milliseconds(1));
}

// The lock is kept for whom it is released to, at each release.
class EventualKept : public testing::Test {
 protected:
  EventualKept() {
    Native::set_hand_off_after(0);
    is_stopped = false;
    may_go_on = false;
    struct sigaction stops {};
    stops.sa_handler = [](int) {
      is_stopped = true;
      while (!may_go_on)
        std::this_thread::sleep_for(milliseconds(1));
    };
    sigaction(SIGUSR1, &stops, &before_);
  }
  ~EventualKept() override {
    sigaction(SIGUSR1, &before_, nullptr);
    Native::set_hand_off_after(500'000);
  }

 private:
  struct sigaction before_;
};

// No try counts, however long the waiting thread is without a processor.
struct NoTryCounts : Native {
  struct FailedTries {
    static bool should_count(const void*) noexcept { return false; }
  };
};
// `take` and `leave` are the waiting thread's, `poll` and `end` those of one that polls.
template <class Take, class Leave, class Poll, class End>
void a_polling_thread_takes_nothing(Take take, Leave leave, Poll poll, End end) {
  take();
  std::atomic<bool> had = false;
  Sleeper waiter([&] {
    take();
    had = true;
    leave();
  });
  waiter.until_asleep();
  leave();
  while (!poll()) {}
  EXPECT_TRUE(had);
  end();
  waiter.join();
}
TEST_F(EventualKept, APollingThreadTakesNothingFromOneThatComes) {
  EventualMutex<NoTryCounts, Park<NoTryCounts>> lock;
  const auto unlock = [&] { lock.unlock(); };
  a_polling_thread_takes_nothing([&] { lock.lock(); }, unlock, [&] { return lock.try_lock(); },
                                 unlock);
}
TEST_F(EventualKept, APollingReaderTakesNothingFromAWriterThatComes) {
  EventualRw<NoTryCounts, Park<NoTryCounts>> lock;
  a_polling_thread_takes_nothing([&] { lock.write_lock(); }, [&] { lock.write_unlock(); },
                                 [&] { return lock.try_read_lock(); }, [&] { lock.read_unlock(); });
}

// Each try counts, whenever it comes: in the library few do.
struct EachTryCounts : Native {
  struct FailedTries {
    static bool should_count(const void*) noexcept { return true; }
  };
};
template <class Take, class Leave, class Poll, class End>
void a_polling_thread_takes_it(Take take, Leave leave, Poll poll, End end) {
  constexpr int kMost = 15;
  take();
  Sleeper waiter([&] {
    take();
    leave();
  });
  waiter.until_asleep();
  stop(waiter);
  leave();
  int failed = 0;
  while (failed <= kMost && !poll())
    ++failed;
  EXPECT_EQ(failed, kMost);
  if (failed <= kMost) end();
  may_go_on = true;
  waiter.join();
}
TEST_F(EventualKept, APollingThreadTakesItFromOneThatIsStopped) {
  EventualMutex<EachTryCounts, Park<EachTryCounts>> lock;
  const auto unlock = [&] { lock.unlock(); };
  a_polling_thread_takes_it([&] { lock.lock(); }, unlock, [&] { return lock.try_lock(); }, unlock);
}
TEST_F(EventualKept, APollingReaderTakesItFromAWriterThatIsStopped) {
  EventualRw<EachTryCounts, Park<EachTryCounts>> lock;
  a_polling_thread_takes_it([&] { lock.write_lock(); }, [&] { lock.write_unlock(); },
                            [&] { return lock.try_read_lock(); }, [&] { lock.read_unlock(); });
}
TEST_F(EventualKept, APollingWriterTakesItFromAWriterThatIsStopped) {
  EventualRw<EachTryCounts, Park<EachTryCounts>> lock;
  const auto unlock = [&] { lock.write_unlock(); };
  a_polling_thread_takes_it([&] { lock.write_lock(); }, unlock,
                            [&] { return lock.try_write_lock(); }, unlock);
}
// In the library, where a thread that is only preempted keeps it.
TEST_F(EventualKept, APollingThreadTakesItAfterAWhile) {
  EventualMutex<Native, Park<Native>> lock;
  lock.lock();
  Sleeper waiter([&] {
    lock.lock();
    lock.unlock();
  });
  waiter.until_asleep();
  stop(waiter);
  lock.unlock();
  const auto begin = Clock::now();
  while (!lock.try_lock()) {}
  EXPECT_GT(Clock::now() - begin, milliseconds(100));
  lock.unlock();
  may_go_on = true;
  waiter.join();
}

// `take` and `leave` are those of threads that wait. The one that comes second is interrupted more
// often than it rechecks.
template <class Take, class Leave>
void one_that_is_interrupted_rechecks(Take take, Leave leave, void (*stop)(Sleeper&)) {
  struct sigaction returns {
  }, before;
  static std::atomic<int> interruptions;
  interruptions = 0;
  returns.sa_handler = [](int) { interruptions.fetch_add(1); };
  sigaction(SIGUSR2, &returns, &before);
  std::atomic<bool> had = false;
  take();
  Sleeper first([&] {
    take();
    leave();
  });
  first.until_asleep();
  Sleeper second([&] {
    take();
    had = true;
    leave();
  });
  second.until_asleep();
  stop(first);
  leave();
  // By signals, not by the clock, which goes on while a busy machine lets no thread run.
  constexpr int kMostSignals = 300;
  for (int i = 0; i < kMostSignals && !had; ++i) {
    pthread_kill(second.thread().native_handle(), SIGUSR2);
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(had);
  EXPECT_GT(interruptions, 0);
  may_go_on = true;
  first.join();
  second.join();
  sigaction(SIGUSR2, &before, nullptr);
}
TEST_F(EventualKept, AnInterruptedThreadTakesItFromOneThatIsStopped) {
  EventualMutex<Native, Park<Native>> lock;
  one_that_is_interrupted_rechecks([&] { lock.lock(); }, [&] { lock.unlock(); }, stop);
}
TEST_F(EventualKept, AnInterruptedWriterTakesItFromOneThatIsStopped) {
  EventualRw<Native, Park<Native>> lock;
  one_that_is_interrupted_rechecks([&] { lock.write_lock(); }, [&] { lock.write_unlock(); }, stop);
}

// Each after one patience: none gets longer, and one that tries comes in again and again.
TEST_F(EventualKept, ReadersPassAWriterThatIsStopped) {
  EventualRw<Native, Park<Native>> lock;
  lock.write_lock();
  Sleeper writer([&] {
    lock.write_lock();
    lock.write_unlock();
  });
  writer.until_asleep();
  stop(writer);
  lock.write_unlock();
  for (int round = 0; round < 8; ++round) {
    std::uint32_t attempt = lock.read_arrive();
    const Deadline soon = {CLOCK_MONOTONIC, kNoTime, 1'000'000};
    int periods = 1;
    for (; attempt != 0 && !lock.read_wait(attempt, &soon) && periods < 100; ++periods) {}
    EXPECT_LE(periods, 2) << "round " << round;
    lock.read_unlock();
  }
  for (int round = 0; round < 2; ++round) {
    while (!lock.try_read_lock()) {}
    lock.read_unlock();
  }
  may_go_on = true;
  writer.join();
  EXPECT_TRUE(lock.idle());
}

}  // namespace
}  // namespace lockswap::eventual_stopped_test
