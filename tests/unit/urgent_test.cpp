// eventual: a waiting thread with a real-time policy comes before those that have none, and before
// those of a lower priority. On one processor, where a busy thread of middle priority keeps all
// others off.
#include <atomic>
#include <ctime>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "locks/mutex/eventual.h"
#include "locks/rw/eventual.h"
#include "platform/native.h"
#include "real_time.h"
#include "wait/park.h"

namespace lockswap {
namespace {

constexpr std::uint64_t kBusy = 400'000'000;  // ns; less than the kernel's limit for such policies

// Above the lowest.
enum Priority { kNone = -1, kLow = 1, kMiddle = 2, kHigh = 3, kHighest = 4 };

struct Mutex {
  EventualMutex<Native, Park<Native>> lock;
  void acquire() { lock.lock(); }
  void release() { lock.unlock(); }
};
struct Writers {
  EventualRw<Native, Park<Native>> lock;
  void acquire() { lock.write_lock(); }
  void release() { lock.write_unlock(); }
};

// A thread that takes the lock once.
template <class Acquire>
class Comer {
 public:
  Comer(int priority, Acquire acquire)
      : thread_([this, priority, acquire] {
          // It has that of the thread that made it.
          const sched_param none{};
          if (priority == kNone) pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
          if (priority != kNone) take_priority(priority);
          comes_ = true;
          acquire();
          had_it_ = Native::now();
        }) {
    // It is asleep: this thread gives it the processor, and it does not come back.
    while (!comes_)
      pause();
    for (int i = 0; i < 20; ++i)
      pause();
  }
  std::uint64_t had_it_at() {
    thread_.join();
    return had_it_;
  }

 private:
  static void pause() {
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
  std::atomic<bool> comes_{false};
  std::uint64_t had_it_ = 0;
  std::thread thread_;
};

// Keeps all threads of lower priorities off the processor, from now on.
std::thread busy_thread() {
  return std::thread([] {
    take_priority(kMiddle);
    for (const std::uint64_t end = Native::now() + kBusy; Native::now() < end;) {}
  });
}

// The lock is kept for a thread that does not get to run.
template <class Lock>
int high_behind_the_front() {
  if (!stay_on_one_processor() || !take_priority(kHighest)) return kRefused;
  static Lock l{};
  const auto once = [] {
    l.acquire();
    l.release();
  };
  l.acquire();
  Comer front(kNone, once);
  Comer high(kHigh, once);
  std::thread busy = busy_thread();
  const std::uint64_t free_at = Native::now();
  l.release();
  const std::uint64_t waited = high.had_it_at() - free_at;
  busy.join();
  const bool front_was_kept_off = front.had_it_at() - free_at >= kBusy / 2;
  return waited < kBusy / 4 && front_was_kept_off ? kGood : kStuck;
}

template <class Lock>
int the_higher_first() {
  if (!stay_on_one_processor() || !take_priority(kHighest)) return kRefused;
  static Lock l{};
  const auto once = [] {
    l.acquire();
    l.release();
  };
  l.acquire();
  Comer front(kNone, once);
  Comer low(kLow, once);
  Comer high(kHigh, once);
  l.release();
  const std::uint64_t high_at = high.had_it_at();
  return high_at < low.had_it_at() && high_at < front.had_it_at() ? kGood : kStuck;
}

int a_reader_behind_the_front() {
  if (!stay_on_one_processor() || !take_priority(kHighest)) return kRefused;
  static EventualRw<Native, Park<Native>> lock{};
  lock.write_lock();
  Comer front(kNone, [] {
    lock.write_lock();
    lock.write_unlock();
  });
  Comer reader(kHigh, [] {
    std::uint32_t attempt = lock.read_arrive();
    while (attempt != 0 && !lock.read_wait(attempt, nullptr)) {}
    lock.read_unlock();
  });
  std::thread busy = busy_thread();
  const std::uint64_t free_at = Native::now();
  lock.write_unlock();
  const std::uint64_t waited = reader.had_it_at() - free_at;
  busy.join();
  front.had_it_at();
  return waited < kBusy / 4 ? kGood : kStuck;
}

TEST(Urgent, AMutexGoesToTheHighPriorityPastTheFront) { expect_good(high_behind_the_front<Mutex>); }
TEST(Urgent, SoDoesAnRwlockForAWriter) { expect_good(high_behind_the_front<Writers>); }
TEST(Urgent, SoDoesAnRwlockForAReader) { expect_good(a_reader_behind_the_front); }
TEST(Urgent, AMutexGoesToTheHigherOfTwo) { expect_good(the_higher_first<Mutex>); }
TEST(Urgent, SoDoesAnRwlock) { expect_good(the_higher_first<Writers>); }

}  // namespace
}  // namespace lockswap
