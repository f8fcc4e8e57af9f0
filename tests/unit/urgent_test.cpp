// eventual: a waiting thread with a real-time policy comes before those that have none, and before
// those of a lower priority. On one processor, where a busy thread of middle priority keeps all
// others off. What is judged is who runs first, not how soon.
#include <atomic>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "asleep.h"
#include "locks/mutex/eventual.h"
#include "locks/rw/eventual.h"
#include "platform/native.h"
#include "real_time.h"
#include "wait/park.h"

namespace lockswap::urgent_test {
namespace {

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

int events() {
  static std::atomic<int> number{0};
  return ++number;
}

// A thread that takes the lock once. It is asleep when it is constructed.
template <class Acquire>
class Comer {
 public:
  Comer(int priority, Acquire acquire)
      : thread_([this, priority, acquire] {
          // It has that of the thread that made it.
          const sched_param none{};
          if (priority == kNone) pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
          if (priority != kNone) take_priority(priority);
          acquire();
          had_it_ = events();
        }) {
    thread_.until_asleep();
  }
  int had_it_as() {
    thread_.join();
    return had_it_;
  }

 private:
  int had_it_ = 0;
  Sleeper thread_;
};

// Keeps all threads of lower priorities off the processor, for less than the kernel allows.
class Busy {
 public:
  Busy()
      : thread_([this] {
          take_priority(kMiddle);
          began_ = events();
          constexpr std::uint64_t kBusy = 400'000'000;  // ns
          for (const std::uint64_t end = Native::now() + kBusy; !over_ && Native::now() < end;) {}
        }) {}
  int began_as() {
    over_ = true;
    thread_.join();
    return began_;
  }

 private:
  std::atomic<bool> over_{false};
  int began_ = 0;
  std::thread thread_;
};

// The lock is kept for a thread that does not get to run. Whoever is woken with the high priority
// runs before the busy thread begins.
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
  Busy busy;
  l.release();
  const int high_as = high.had_it_as();
  const int busy_as = busy.began_as();
  return high_as < busy_as && busy_as < front.had_it_as() ? kGood : kStuck;
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
  const int high_as = high.had_it_as();
  return high_as < low.had_it_as() && high_as < front.had_it_as() ? kGood : kStuck;
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
  Busy busy;
  lock.write_unlock();
  const int reader_as = reader.had_it_as();
  const int busy_as = busy.began_as();
  front.had_it_as();
  return reader_as < busy_as ? kGood : kStuck;
}

TEST(Urgent, AMutexGoesToTheHighPriorityPastTheFront) { expect_good(high_behind_the_front<Mutex>); }
TEST(Urgent, SoDoesAnRwlockForAWriter) { expect_good(high_behind_the_front<Writers>); }
TEST(Urgent, SoDoesAnRwlockForAReader) { expect_good(a_reader_behind_the_front); }
TEST(Urgent, AMutexGoesToTheHigherOfTwo) { expect_good(the_higher_first<Mutex>); }
TEST(Urgent, SoDoesAnRwlock) { expect_good(the_higher_first<Writers>); }

}  // namespace
}  // namespace lockswap::urgent_test
