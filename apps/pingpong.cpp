// Threads in a ring pass a token on by condition variables: what a wake-up costs.
//
// usage: pingpong [THREADS [ROUNDS]]
//   THREADS  2 to 1000 (default 2): two play ping-pong
//   ROUNDS   of the token through the ring (default 20000)
// There is one mutex. Each thread waits on a condition variable of its own until the token is its
// own, then names the next thread and signals it. So one thread at a time has something to do, and
// each hand-off is a sleep, a signal, and the way back to the mutex.
// The program prints hand-offs a second, by the clock and per CPU second.
//
// Plain pthread API: run it with and without the preload. To compare locks, interleave the runs.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <thread>
#include <vector>

namespace {

double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::vector<pthread_cond_t> seats;
std::size_t turn = 0;

void play(std::size_t me, long rounds) {
  const std::size_t next = (me + 1) % seats.size();
  for (; rounds > 0; --rounds) {
    pthread_mutex_lock(&mutex);
    while (turn != me)
      pthread_cond_wait(&seats[me], &mutex);
    turn = next;
    pthread_cond_signal(&seats[next]);
    pthread_mutex_unlock(&mutex);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long threads = argc > 1 ? std::atol(argv[1]) : 2;
  const long rounds = argc > 2 ? std::atol(argv[2]) : 20'000;
  if (argc > 3 || threads < 2 || threads > 1000 || rounds <= 0) {
    std::fprintf(stderr, "usage: pingpong [THREADS (2 to 1000) [ROUNDS]]\n");
    return 2;
  }
  seats.resize(static_cast<std::size_t>(threads), PTHREAD_COND_INITIALIZER);
  const double start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<std::thread> crew;
  for (std::size_t i = 0; i < seats.size(); ++i)
    crew.emplace_back(play, i, rounds);
  for (std::thread& t : crew)
    t.join();
  const auto handovers = static_cast<double>(threads * rounds);
  std::printf("handovers_s %.0f\n", handovers / (now(CLOCK_MONOTONIC) - start));
  std::printf("handovers_cpu %.0f\n", handovers / (now(CLOCK_PROCESS_CPUTIME_ID) - cpu));
  return turn == 0 ? 0 : 1;
}
