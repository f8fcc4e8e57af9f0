// Wait policies that never sleep, beside real-time policies: on one processor the kernel lets no
// thread run while one of higher priority looks, or yields.
#include "platform/real_time.h"

#include <atomic>
#include <ctime>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>

#include "locks/common/ticket_lock.h"
#include "platform/native.h"
#include "real_time.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap::real_time_test {
namespace {

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
}  // namespace lockswap::real_time_test
