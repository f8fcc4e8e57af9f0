// Short races of two threads that meet at a mutex, run by the thousand.
#include <sched.h>

#include "mutex_support.h"

namespace conformance::mutex_races {

namespace {
// Both threads come here; neither goes on before the other has come.
class Meeting {
 public:
  void wait() {
    const int mine = arrived_.fetch_add(1) / 2;
    while (arrived_.load() / 2 == mine)
      sched_yield();
  }

 private:
  std::atomic<int> arrived_{0};
};

void work(int n) {
  for (int i = 0; i < n; ++i)
    asm volatile("" ::: "memory");
}
}  // namespace

// The holder releases while another thread comes with a far deadline. A waiter that sleeps until
// then hangs the test.
TEST(MutexRaces, NobodySleepsOnAFreeMutex) {
  Mutex m;
  Meeting held, done;
  const int rounds = scaled(3000);
  std::thread holder([&] {
    for (int i = 0; i < rounds; ++i) {
      EXPECT_EQ(0, pthread_mutex_lock(m));
      held.wait();
      work(i % 150);
      EXPECT_EQ(0, pthread_mutex_unlock(m));
      done.wait();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    held.wait();
    const timespec at = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
    EXPECT_EQ(0, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at));
    EXPECT_EQ(0, pthread_mutex_unlock(m));
    done.wait();
  }
  holder.join();
  expect_mutex_free(m);
}

// A thread releases and tries; another tries once. Only the earlier hold can make the other's try
// fail, and then the mutex is free for the first thread.
TEST(MutexRaces, OneOfTwoTriesGetsIt) {
  Mutex m;
  Meeting held, tried, done;
  const int rounds = scaled(3000);
  std::atomic<int> got{0};
  const auto try_it = [&] {
    const int error = pthread_mutex_trylock(m);
    got += error == 0 ? 1 : 0;
    tried.wait();
    EXPECT_EQ(1, got);
    if (error == 0) {
      EXPECT_EQ(0, pthread_mutex_unlock(m));
    } else {
      EXPECT_EQ(EBUSY, error);
    }
  };
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      held.wait();
      work(i % 60);
      try_it();
      done.wait();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(0, pthread_mutex_lock(m));
    got = 0;
    held.wait();
    work(i / 60 % 60);
    EXPECT_EQ(0, pthread_mutex_unlock(m));
    try_it();
    done.wait();
  }
  other.join();
  expect_mutex_free(m);
}

}  // namespace conformance::mutex_races
