// Cancellation. The lock calls are no cancellation points: a thread that is cancelled before one or
// while it waits in one returns from it with the call's usual result.
#include <unistd.h>

#include "support.h"

namespace conformance::rwlock_cancel {

namespace {
using L = pthread_rwlock_t;

// Makes every call while a cancellation is pending. Nothing may be left held.
void call_everything() {
  L lock = PTHREAD_RWLOCK_INITIALIZER, made;
  const timespec far = after(CLOCK_REALTIME, 600'000 * kMillisecond),
                 far_mono = after(CLOCK_MONOTONIC, 600'000 * kMillisecond), past{0, 0};
  EXPECT_RC(0, pthread_rwlock_init(&made, nullptr));
  for (L* l : {&lock, &made})
    for (int round = 0; round < 40; ++round) {
      EXPECT_RC(0, pthread_rwlock_rdlock(l));
      EXPECT_RC(0, pthread_rwlock_rdlock(l));
      EXPECT_RC(0, pthread_rwlock_tryrdlock(l));
      EXPECT_RC(0, pthread_rwlock_timedrdlock(l, &far));
      EXPECT_RC(0, pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &far_mono));
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(l));
      EXPECT_RC(ETIMEDOUT, pthread_rwlock_timedwrlock(l, &past));
      for (int i = 0; i < 5; ++i)
        EXPECT_RC(0, pthread_rwlock_unlock(l));
      EXPECT_RC(0, pthread_rwlock_wrlock(l));
      EXPECT_RC(EDEADLK, pthread_rwlock_rdlock(l));
      EXPECT_RC(0, pthread_rwlock_unlock(l));
      EXPECT_RC(0, pthread_rwlock_trywrlock(l));
      EXPECT_RC(0, pthread_rwlock_unlock(l));
      EXPECT_RC(0, pthread_rwlock_timedwrlock(l, &far));
      EXPECT_RC(0, pthread_rwlock_unlock(l));
      EXPECT_RC(0, pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &far_mono));
      EXPECT_RC(0, pthread_rwlock_unlock(l));
    }
  EXPECT_RC(0, pthread_rwlock_destroy(&made));
}

// Runs `body` in a thread that is cancelled already; the thread must come to the end of it.
void* run_and_mark_end(void* body) {
  pthread_cancel(pthread_self());
  (*static_cast<std::function<void()>*>(body))();
  for (;;)
    pthread_testcancel();
}
void in_cancelled_thread(std::function<void()> body) {
  std::atomic<bool> came_to_its_end{false};
  std::function<void()> marked = [&] {
    body();
    came_to_its_end = true;
  };
  pthread_t thread;
  ASSERT_EQ(0, pthread_create(&thread, nullptr, run_and_mark_end, &marked));
  void* result = nullptr;
  ASSERT_EQ(0, pthread_join(thread, &result));
  EXPECT_EQ(PTHREAD_CANCELED, result);
  EXPECT_TRUE(came_to_its_end) << "cancelled inside a lock call";
}
}  // namespace

TEST(Cancel, NoCallIsACancellationPoint) { in_cancelled_thread(call_everything); }

// The same for calls that wait: until they are let in, and until their time is up.
TEST(Cancel, NoWaitOfACancelledThreadIsACancellationPoint) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor holder;
  for (bool holder_writes : {true, false})
    for (int form = 0; form < 6; ++form) {
      if (!holder_writes && form % 2 == 0) continue;  // a reader does not wait for a reader
      holder.run([&] {
        ASSERT_RC(0, holder_writes ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
      });
      std::atomic<bool> waiting{false};
      holder.start([&] {
        while (!waiting)
          sched_yield();
        usleep(3'000);  // into its wait; earlier only weakens the test
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
      in_cancelled_thread([&] {
        const timespec far = after(CLOCK_MONOTONIC, 600'000 * kMillisecond),
                       soon = after(CLOCK_MONOTONIC, 2 * kMillisecond);
        const bool write = form % 2 == 1;
        if (form >= 4) {
          EXPECT_RC(ETIMEDOUT, write ? pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon)
                                     : pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &soon));
          waiting = true;
          return;
        }
        waiting = true;
        if (form >= 2)
          EXPECT_RC(0, write ? pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &far)
                             : pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &far));
        else
          EXPECT_RC(0, write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      });
      holder.finish();
      expect_works(&lock);
    }
}

// The lock calls are no cancellation points: a thread that waits in one gets the lock although it
// was cancelled.
TEST(Cancel, WaitingForALockIsNoCancellationPoint) {
  for (bool write : {false, true}) {
    static L lock = PTHREAD_RWLOCK_INITIALIZER;
    static std::atomic<int> phase;
    phase = write ? 10 : 0;
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    pthread_t thread;
    ASSERT_EQ(0, pthread_create(
                     &thread, nullptr,
                     [](void*) -> void* {
                       const int start = phase;
                       phase = start + 1;
                       EXPECT_EQ(0, start == 10 ? pthread_rwlock_wrlock(&lock)
                                                : pthread_rwlock_rdlock(&lock));
                       phase = start + 2;
                       EXPECT_EQ(0, pthread_rwlock_unlock(&lock));
                       phase = start + 3;
                       for (;;)
                         pthread_testcancel();
                     },
                     nullptr));
    const int start = write ? 10 : 0;
    while (phase == start)
      sched_yield();
    usleep(20'000);  // into its wait; earlier only weakens the test
    ASSERT_EQ(0, pthread_cancel(thread));
    usleep(20'000);
    EXPECT_EQ(start + 1, phase.load());
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    void* result = nullptr;
    ASSERT_EQ(0, pthread_join(thread, &result));
    EXPECT_EQ(PTHREAD_CANCELED, result);
    EXPECT_EQ(start + 3, phase.load());
    expect_works(&lock);
  }
}

// A cancelled thread's clean-up handlers release what it holds.
TEST(Cancel, CleanUpHandlersUnlock) {
  static L lock = PTHREAD_RWLOCK_INITIALIZER;
  static std::atomic<bool> holds;
  for (int i = 0; i < 30; ++i) {
    holds = false;
    static bool write;
    write = i % 2 == 1;
    pthread_t thread;
    ASSERT_EQ(0, pthread_create(
                     &thread, nullptr,
                     [](void*) -> void* {
                       EXPECT_EQ(
                           0, write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
                       pthread_cleanup_push(
                           [](void*) { EXPECT_EQ(0, pthread_rwlock_unlock(&lock)); }, nullptr);
                       holds = true;
                       for (;;)
                         pause();
                       pthread_cleanup_pop(1);
                       return nullptr;
                     },
                     nullptr));
    while (!holds)
      sched_yield();
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    ASSERT_EQ(0, pthread_cancel(thread));
    ASSERT_EQ(0, pthread_join(thread, nullptr));
    expect_works(&lock);
  }
}

}  // namespace conformance::rwlock_cancel
