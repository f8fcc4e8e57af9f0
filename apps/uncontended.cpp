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
#include <optional>
#include <pthread.h>

#include "common/one_thread.h"

namespace {

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct Mode {
  const char* name;
  bench::Loop* loop;
};
constexpr auto kMutex =
    bench::pairs_of<pthread_mutex_t, pthread_mutex_lock, pthread_mutex_unlock, &mutex>;
constexpr Mode kModes[] = {
    {"read",
     bench::pairs_of<pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_unlock, &lock>},
    {"write",
     bench::pairs_of<pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_unlock, &lock>},
    {"mutex", kMutex},
    {"recursive", kMutex},
};

void make_recursive() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
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
  std::optional<bench::Companion> companion;
  if (threads == 2) companion.emplace();
  bench::warm_up(*mode->loop, pairs);
  for (long i = 0; i < rounds; ++i)
    std::printf("%.3f ns/pair\n", bench::measured_round(*mode->loop, pairs));
  return 0;
}
