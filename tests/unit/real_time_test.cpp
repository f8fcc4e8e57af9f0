// Wait policies that never sleep, beside real-time policies: on one processor the kernel lets no
// thread run while one of higher priority looks, or yields.
#include "platform/real_time.h"

#include <atomic>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "locks/common/ticket_lock.h"
#include "platform/native.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap {
namespace {

// False: it is not allowed.
bool take_priority(int above_the_lowest) {
  sched_param p{};
  p.sched_priority = sched_get_priority_min(SCHED_FIFO) + above_the_lowest;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}

bool stay_on_one_processor() {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

enum Outcome { kGood = 0, kRefused = 1, kStuck = 2 };

// The holder has a lower priority than the thread that comes while it holds.
template <template <class> class Wait, bool kTimed>
int higher_waits_for_lower() {
  if (!stay_on_one_processor() || !take_priority(2)) return kRefused;
  static constinit TicketLock<Native, Wait<Native>> lock{};
  static constinit std::atomic<bool> is_held{false}, begins{false};
  std::thread holder([] {
    take_priority(0);
    lock.lock();
    is_held = true;
    while (!begins)
      sched_yield();
    lock.unlock();
  });
  const timespec moment{0, 1'000'000};
  while (!is_held)
    nanosleep(&moment, nullptr);
  begins = true;
  if (kTimed) {
    const Deadline far = deadline_in(monotonic_ns(), 60'000'000'000);
    if (!lock.lock_until(&far)) return kStuck;
  } else {
    lock.lock();
  }
  lock.unlock();
  holder.join();
  return kGood;
}

int in_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  constexpr int kSeconds = 10;
  int status = -1;
  for (int i = 0; i < kSeconds * 100; ++i) {
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : kStuck;
    usleep(10'000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return kStuck;
}

void expect_good(int (*body)()) {
  const int outcome = in_child(body);
  if (outcome == kRefused) GTEST_SKIP() << "real-time policies are not allowed here";
  EXPECT_EQ(outcome, kGood);
}

TEST(RealTime, ASpinLetsALowerPriorityRun) { expect_good(higher_waits_for_lower<Spin, false>); }
TEST(RealTime, AYieldLetsALowerPriorityRun) { expect_good(higher_waits_for_lower<Yield, false>); }
TEST(RealTime, ATimedSpinLetsALowerPriorityRun) { expect_good(higher_waits_for_lower<Spin, true>); }
TEST(RealTime, ATimedYieldLetsALowerPriorityRun) {
  expect_good(higher_waits_for_lower<Yield, true>);
}

TEST(RealTime, ThePolicyIsAskedForAnew) {
  EXPECT_FALSE(has_real_time_policy());
  bool allowed = false, had = false, has = true;
  std::thread([&] {
    allowed = take_priority(0);
    had = has_real_time_policy();
    const sched_param none{};
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
    has = has_real_time_policy();
  }).join();
  if (!allowed) GTEST_SKIP() << "real-time policies are not allowed here";
  EXPECT_TRUE(had);
  EXPECT_FALSE(has);
}

}  // namespace
}  // namespace lockswap
