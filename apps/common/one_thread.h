// One thread that takes and releases a lock, or calls any other two functions, in a loop, while
// nobody else wants the lock.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "common/clock.h"

namespace bench {

using Loop = void(long pairs);

template <class Lock, int (*kAcquire)(Lock*), int (*kRelease)(Lock*), Lock* kLock>
__attribute__((noinline)) void pairs_of(long n) {
  for (; n > 0; --n) {
    kAcquire(kLock);
    kRelease(kLock);
  }
}

inline void warm_up(Loop& loop, long pairs) { loop(pairs / 10 + 1); }  // adoption, bias, caches

// Returns the thread's CPU nanoseconds for a pair. callgrind counts between its begin and its end.
__attribute__((noinline)) inline double measured_round(Loop& loop, long pairs) {
  const double start = cpu_ns();
  loop(pairs);
  return (cpu_ns() - start) / static_cast<double>(pairs);
}

// A second thread, which sleeps. Some locks are cheaper as long as the process has one thread.
class Companion {
 public:
  Companion() {
    sem_init(&goes_home_, 0, 0);
    const auto sleep = [](void* goes_home) -> void* {
      sem_wait(static_cast<sem_t*>(goes_home));
      return nullptr;
    };
    pthread_create(&thread_, nullptr, sleep, &goes_home_);
  }
  ~Companion() {
    sem_post(&goes_home_);
    pthread_join(thread_, nullptr);
  }
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

 private:
  pthread_t thread_;
  sem_t goes_home_;
};

}  // namespace bench
