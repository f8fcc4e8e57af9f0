// Threads that work for a while: the part that all benchmarks share.
//
// A benchmark is a worker class, one object a thread, with
//   template <class Watch> void work(Watch& watch, const std::atomic<bool>& stop);
//       some operations, of 1 to 100 us together; only those that may wait long look at `stop`.
//       Each acquisition goes through watch.read(f) or watch.write(f), which call f().
//   std::uint64_t reads = 0, writes = 0;      operations done since the worker was made
//   void warm_up();                           optional: in its thread, before the time begins
//   void leave();                             optional: in its thread, when the time is over, for
//                                             workers that may sleep until another does something
//
// A run has two phases. In the first nothing is timed but the whole: it gives the rates. In the
// second each acquisition is timed, which makes them slower: it gives the tails, and no rates.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <latch>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/live.h"
#include "common/tail.h"

namespace bench {

struct Plan {
  int threads = 2;
  double seconds = 1;         // the phase of the rates
  double tail_seconds = 0.5;  // the phase of the tails; 0: none
  int least = 1;              // calls of work() in each thread and phase, even if they take longer
  bool pin = false;           // to the processors that the process may use, in turn
};

// What a thread did in one phase. On lines of its own: its thread writes it all the time.
struct alignas(128) Share {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  Stamps stamps;
  Tail read_tail;
  Tail write_tail;

  std::uint64_t operations() const noexcept { return reads + writes; }
};
using Phase = std::vector<Share>;

template <class Worker>
std::uint64_t sum_of(const std::vector<Worker>& workers, std::uint64_t Worker::*count) {
  std::uint64_t sum = 0;
  for (const Worker& w : workers)
    sum += w.*count;
  return sum;
}
template <class Worker>
std::uint64_t reads_of(const std::vector<Worker>& workers) {
  return sum_of(workers, &Worker::reads);
}
template <class Worker>
std::uint64_t writes_of(const std::vector<Worker>& workers) {
  return sum_of(workers, &Worker::writes);
}

// The two watches: the first phase's, which costs nothing, and the second's.
struct Untimed {
  template <class F>
  void read(F f) {
    f();
  }
  template <class F>
  void write(F f) {
    f();
  }
};

struct Timed {
  Tail& read_tail;
  Tail& write_tail;

  template <class F>
  void read(F f) {
    time(read_tail, f);
  }
  template <class F>
  void write(F f) {
    time(write_tail, f);
  }

 private:
  template <class F>
  static void time(Tail& tail, F& f) {
    const std::uint64_t before = ticks();
    f();
    const std::uint64_t after = ticks();
    tail.add(after > before ? after - before : 0);
  }
};

// Puts the calling thread on one of the processors that it may use.
void pin_to(int number) noexcept;
// Returns how many processors the process may use.
int processors() noexcept;

// The least time between two stamps: more are not needed to see that a thread stands still.
inline constexpr std::uint64_t kTicksPerStamp = 30'000;  // 10 to 30 us

// Works until `stop`, but at least that often, so that nothing is missing because the thread got no
// processor in time.
template <class Worker, class Watch>
void work_until(const std::atomic<bool>& stop, int least, Worker& worker, Watch& watch,
                Stamps& stamps) {
  const std::uint64_t before = worker.reads + worker.writes;
  std::uint64_t due = 0;
  for (int left = least; left > 0 || !stop.load(std::memory_order_relaxed); left -= left > 0) {
    worker.work(watch, stop);
    const std::uint64_t now = ticks();
    if (now >= due) {
      stamps.push_back({now, worker.reads + worker.writes - before});
      due = now + kTicksPerStamp;
    }
  }
}

// One thread of a phase; `start` lets all begin together.
template <class Worker>
void take_part(const Plan& plan, int number, bool timed, double seconds, std::latch& start,
               const std::atomic<bool>& stop, Worker& worker, Share& share) {
  if (plan.pin) pin_to(number);
  share.stamps.reserve(static_cast<std::size_t>(seconds * 150'000) + 16);
  if constexpr (requires { worker.warm_up(); }) worker.warm_up();
  const std::uint64_t reads = worker.reads;
  const std::uint64_t writes = worker.writes;
  start.arrive_and_wait();
  const double began = seconds_of(CLOCK_MONOTONIC);
  const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  if (timed) {
    Timed watch{share.read_tail, share.write_tail};
    work_until(stop, plan.least, worker, watch, share.stamps);
  } else {
    Untimed watch;
    work_until(stop, plan.least, worker, watch, share.stamps);
  }
  if constexpr (requires { worker.leave(); }) worker.leave();
  share.cpu_seconds = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  share.seconds = seconds_of(CLOCK_MONOTONIC) - began;
  share.reads = worker.reads - reads;
  share.writes = worker.writes - writes;
}

// Runs one phase: a thread for each worker, for that many seconds. Ends the program with status 1
// if the system has no more threads.
template <class Worker>
Phase run_phase(const Plan& plan, std::vector<Worker>& workers, bool timed, double seconds) {
  Phase phase(workers.size());
  std::latch start(static_cast<std::ptrdiff_t>(workers.size()) + 1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    try {
      threads.emplace_back([&, i] {
        take_part(plan, static_cast<int>(i), timed, seconds, start, stop, workers[i], phase[i]);
      });
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "cannot start thread %zu: %s\n", i + 1, error.what());
      std::_Exit(1);  // those that did start wait for the others
    }
  }
  start.arrive_and_wait();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  stop.store(true);
  for (std::thread& t : threads)
    t.join();
  return phase;
}

}  // namespace bench
