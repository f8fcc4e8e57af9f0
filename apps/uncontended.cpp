// What one thread pays for an acquisition and its release when nobody else is there.
//
// usage: uncontended read|write [PAIRS [ROUNDS]]
//   PAIRS   acquire/release pairs a round (default 1000000)
//   ROUNDS  (default 7)
// Prints the thread's CPU nanoseconds a pair, one line a round. Under `valgrind --tool=callgrind`
// two runs with different PAIRS give the instructions a pair.
//
// Plain pthread API: run it with and without the preload. To compare locks, interleave the runs.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>

namespace {

double cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) void read_pairs(long n) {
  for (; n > 0; --n) {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
  }
}
__attribute__((noinline)) void write_pairs(long n) {
  for (; n > 0; --n) {
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool write = argc > 1 && std::strcmp(argv[1], "write") == 0;
  const long pairs = argc > 2 ? std::atol(argv[2]) : 1'000'000;
  const long rounds = argc > 3 ? std::atol(argv[3]) : 7;
  if (argc < 2 || argc > 4 || (!write && std::strcmp(argv[1], "read") != 0) || pairs <= 0 ||
      rounds <= 0) {
    std::fprintf(stderr, "usage: uncontended read|write [PAIRS [ROUNDS]]\n");
    return 2;
  }
  const auto run = write ? write_pairs : read_pairs;
  run(pairs / 10 + 1);  // warm: adoption, bias, caches
  for (long i = 0; i < rounds; ++i) {
    const double start = cpu_ns();
    run(pairs);
    std::printf("%.3f ns/pair\n", (cpu_ns() - start) / static_cast<double>(pairs));
  }
  return 0;
}
