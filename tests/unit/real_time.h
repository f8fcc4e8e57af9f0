// Threads with real-time policies on one processor, in a process of their own.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/wait.h>

namespace lockswap {

// Returns false if it is not allowed.
inline bool take_priority(int above_the_lowest) {
  sched_param p{};
  p.sched_priority = sched_get_priority_min(SCHED_FIFO) + above_the_lowest;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}

inline bool stay_on_one_processor() {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

enum Outcome { kGood = 0, kRefused = 1, kStuck = 2 };

inline int in_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit most{10, 10};  // CPU seconds: one that goes round would keep others off
    setrlimit(RLIMIT_CPU, &most);
    _exit(body());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kStuck;
}

inline void expect_good(int (*body)()) {
  const int outcome = in_child(body);
  if (outcome == kRefused) GTEST_SKIP() << "real-time policies are not allowed here";
  EXPECT_EQ(outcome, kGood);
}

}  // namespace lockswap
