// What one thread pays for an acquisition and its release when no other thread wants the lock.
//
// usage: uncontended read|write|mutex|recursive [PAIRS [ROUNDS [THREADS]]]
//   read, write       a reader-writer lock
//   mutex, recursive  a mutex, of the default kind or recursive
//   PAIRS   acquire/release pairs a round (default 1000000)
//   ROUNDS  (default 7)
//   THREADS 1 (default), or 2: another one is there, and sleeps
// Prints the thread's CPU nanoseconds a pair, one line a round. Under
// `valgrind --tool=callgrind --toggle-collect='*measured_round*'` one round gives the instructions.
//
// Plain pthread API: run it with and without the preload. To compare locks, interleave the runs.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <semaphore.h>

#include "common/clock.h"

namespace {

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

template <class Lock, int (*kAcquire)(Lock*), int (*kRelease)(Lock*), Lock* kLock>
__attribute__((noinline)) void pairs_of(long n) {
  for (; n > 0; --n) {
    kAcquire(kLock);
    kRelease(kLock);
  }
}

struct Mode {
  const char* name;
  void (*run)(long pairs);
};
constexpr auto kMutex = pairs_of<pthread_mutex_t, pthread_mutex_lock, pthread_mutex_unlock, &mutex>;
constexpr Mode kModes[] = {
    {"read", pairs_of<pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_unlock, &lock>},
    {"write", pairs_of<pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_unlock, &lock>},
    {"mutex", kMutex},
    {"recursive", kMutex},
};

// Some locks have it easier as long as the process has one thread.
pthread_t companion;
sem_t goes_home;
void bring_company() {
  sem_init(&goes_home, 0, 0);
  const auto sleeps = [](void*) -> void* {
    sem_wait(&goes_home);
    return nullptr;
  };
  pthread_create(&companion, nullptr, sleeps, nullptr);
}
void send_home() {
  sem_post(&goes_home);
  pthread_join(companion, nullptr);
}

void make_recursive() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

// callgrind counts between its begin and its end.
__attribute__((noinline)) double measured_round(const Mode& mode, long pairs) {
  const double start = bench::cpu_ns();
  mode.run(pairs);
  return (bench::cpu_ns() - start) / static_cast<double>(pairs);
}

}  // namespace

int main(int argc, char** argv) {
  const Mode* mode = nullptr;
  for (const Mode& m : kModes) {
    if (argc > 1 && std::strcmp(argv[1], m.name) == 0) mode = &m;
  }
  const long pairs = argc > 2 ? std::atol(argv[2]) : 1'000'000;
  const long rounds = argc > 3 ? std::atol(argv[3]) : 7;
  const long threads = argc > 4 ? std::atol(argv[4]) : 1;
  const bool is_valid = pairs > 0 && rounds > 0 && (threads == 1 || threads == 2);
  if (mode == nullptr || argc > 5 || !is_valid) {
    std::fprintf(stderr,
                 "usage: uncontended read|write|mutex|recursive [PAIRS [ROUNDS [THREADS]]]\n");
    return 2;
  }
  if (std::strcmp(mode->name, "recursive") == 0) make_recursive();
  if (threads == 2) bring_company();
  mode->run(pairs / 10 + 1);  // warm: adoption, bias, caches
  for (long i = 0; i < rounds; ++i)
    std::printf("%.3f ns/pair\n", measured_round(*mode, pairs));
  if (threads == 2) send_home();
  return 0;
}
