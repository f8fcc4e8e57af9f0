// Does pthread_cond_signal lose wake-ups here? (glibc 2.25 to 2.40 do, unless corrected like 2.41:
// bug 25847. Which do is listed in results/notes/2026-11-glibc-versions.md.)
//
// usage: lost_wakeup [--full [MINUTES [CONSUMERS]]]
//
// Without an option it needs a second or two: it stops a waiter at each instruction behind its
// wake-up in turn, as a busy scheduler may, and lets the others go on meanwhile
// (lost_wakeup_stepped.cpp). It prints at how many instructions, and at how many of them a later
// signal woke nobody.
//
// --full stops nobody: a producer and consumers (6) work at full speed for some minutes (10), until
// a signal is lost or the time is over; load beside them helps. One or two items are put at a time,
// a signal for each, and the next ones once these have been taken. So a consumer that loses its
// processor behind its wake-up doesn't stop the others, and a wake-up that is lost stops them all.
//
// Status: 0, none was lost; 1, one was; 77, this cannot be asked here.
// Plain pthread API: run it with and without the preload.

#include "lost_wakeup.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// All as in a textbook; mutex protects the rest.
struct Shop {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
  pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
  int items = 0;
  bool closed = false;
  std::atomic<long> taken{0};

  void consume() {
    pthread_mutex_lock(&mutex);
    for (;;) {
      while (items == 0 && !closed)
        pthread_cond_wait(&filled, &mutex);
      if (closed) break;
      if (--items == 0) pthread_cond_signal(&emptied);
      taken.fetch_add(1, std::memory_order_relaxed);
      pthread_mutex_unlock(&mutex);
      pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
  }
  void produce() {
    std::minstd_rand random(1);
    pthread_mutex_lock(&mutex);
    while (!closed) {
      const int n = 1 + static_cast<int>(random() >> 8 & 1);
      items = n;
      pthread_mutex_unlock(&mutex);
      for (int i = 0; i < n; ++i)
        pthread_cond_signal(&filled);
      pthread_mutex_lock(&mutex);
      while (items != 0 && !closed)
        pthread_cond_wait(&emptied, &mutex);
    }
    pthread_mutex_unlock(&mutex);
  }
};

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Nothing was taken for so long: no scheduler keeps a thread waiting for that time.
constexpr double kStuck = 10;  // s

int under_load(double minutes, int consumers) {
  static Shop shop;
  std::vector<std::thread> threads;
  for (int i = 0; i < consumers; ++i)
    threads.emplace_back([] { shop.consume(); });
  threads.emplace_back([] { shop.produce(); });
  const double start = now();
  double moved = start;
  long seen = 0;
  while (now() < start + minutes * 60 && now() < moved + kStuck) {
    usleep(100'000);
    if (const long taken = shop.taken.load(); taken != seen) {
      seen = taken;
      moved = now();
    }
  }
  const bool lost = now() >= moved + kStuck;
  std::printf("%s after %.1f s: %ld items taken\n", lost ? "lost" : "none lost", moved - start,
              seen);
  pthread_mutex_lock(&shop.mutex);
  if (lost) std::printf("stuck: %d items wait, and all consumers sleep\n", shop.items);
  shop.closed = true;
  pthread_mutex_unlock(&shop.mutex);
  pthread_cond_broadcast(&shop.filled);
  pthread_cond_broadcast(&shop.emptied);
  for (std::thread& t : threads)
    t.join();
  return lost ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return stop_at_each_instruction();
  const double minutes = argc > 2 ? std::atof(argv[2]) : 10;
  const int consumers = argc > 3 ? std::atoi(argv[3]) : 6;
  if (std::strcmp(argv[1], "--full") != 0 || argc > 4 || !(minutes > 0) || consumers < 2 ||
      consumers > 1000) {
    std::fprintf(stderr, "usage: lost_wakeup [--full [MINUTES [CONSUMERS (2 to 1000)]]]\n");
    return 2;
  }
  return under_load(minutes, consumers);
}
