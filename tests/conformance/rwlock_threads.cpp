// Threads: very many over time, many at once, those on their way out, cancelled ones, and signals.
#include <array>
#include <dlfcn.h>
#include <limits.h>
#include <memory>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/time.h>

#include "support.h"

using namespace conformance;

namespace {
using L = pthread_rwlock_t;
}

TEST(Threads, VeryManyOverTime) {
  static Guarded guarded[4];
  constexpr int kAtOnce = 8;
  const auto body = [](void*) -> void* {
    for (Guarded& g : guarded) {
      EXPECT_EQ(0, pthread_rwlock_rdlock(&g.lock));
      EXPECT_EQ(0, pthread_rwlock_rdlock(&g.lock));
      g.read_inside();
      EXPECT_EQ(0, pthread_rwlock_unlock(&g.lock));
      EXPECT_EQ(0, pthread_rwlock_unlock(&g.lock));
    }
    if (pthread_rwlock_trywrlock(&guarded[0].lock) == 0) {
      guarded[0].write_inside();
      EXPECT_EQ(0, pthread_rwlock_unlock(&guarded[0].lock));
    }
    return nullptr;
  };
  pthread_attr_t attribute;
  pthread_attr_init(&attribute);
  pthread_attr_setstacksize(&attribute, PTHREAD_STACK_MIN + 64 * 1024);
  const int threads = scaled(20'000);
  pthread_t crew[kAtOnce];
  for (int made = 0; made < threads; made += kAtOnce) {
    for (pthread_t& t : crew)
      ASSERT_EQ(0, pthread_create(&t, &attribute, body, nullptr));
    for (pthread_t& t : crew)
      ASSERT_EQ(0, pthread_join(t, nullptr));
  }
  for (Guarded& g : guarded) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
}

TEST(Threads, SixtyFourAtOnce) {
  static Guarded guarded[2];
  hammer(64, spinning() ? 1 : scaled(400), [&](int index, std::mt19937& random) {
    Guarded& g = guarded[random() % 2];
    const bool write = (index + static_cast<int>(random() % 8)) % 8 == 0;
    ASSERT_EQ(0, write ? pthread_rwlock_wrlock(&g.lock) : pthread_rwlock_rdlock(&g.lock));
    if (write)
      g.write_inside();
    else
      g.read_inside();
    ASSERT_EQ(0, pthread_rwlock_unlock(&g.lock));
  });
  for (Guarded& g : guarded) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
}

// All hold at the same moment: no table of holders is too small.
TEST(Threads, TwoHundredHoldTheSameLockAtOnce) {
  constexpr int kThreads = 200;
  L locks[3] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
  for (L& lock : locks)
    warm_up_readers(&lock);
  std::atomic<int> inside{0};
  std::atomic<bool> leave{false};
  std::vector<std::thread> crew;
  for (int i = 0; i < kThreads; ++i)
    crew.emplace_back([&] {
      for (L& lock : locks)
        EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
      if (inside.fetch_add(1) + 1 == kThreads) inside.notify_all();
      leave.wait(false);
      for (L& lock : locks)
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
  for (int n = inside; n < kThreads; n = inside)
    inside.wait(n);
  for (L& lock : locks)
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
  leave = true;
  leave.notify_all();
  for (std::thread& t : crew)
    t.join();
  for (L& lock : locks)
    expect_works(&lock);
}

// ---- on the way out

namespace {

pthread_key_t key;
L exit_lock = PTHREAD_RWLOCK_INITIALIZER, exit_held = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<int> destructor_runs{0};

void use_in_destructor(void* round) {
  const auto n = reinterpret_cast<std::intptr_t>(round);
  EXPECT_RC(0, pthread_rwlock_rdlock(&exit_held));  // recursion: the thread's body took it
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_held));
  EXPECT_RC(0, pthread_rwlock_wrlock(&exit_lock));
  EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  ++destructor_runs;
  if (n < PTHREAD_DESTRUCTOR_ITERATIONS - 1)
    pthread_setspecific(key, reinterpret_cast<void*>(n + 1));
  else
    EXPECT_RC(0, pthread_rwlock_unlock(&exit_held));
}

struct UsesLocksAtThreadExit {
  ~UsesLocksAtThreadExit() {
    EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
    EXPECT_RC(0, pthread_rwlock_wrlock(&exit_lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  }
};

}  // namespace

// Destructors of thread-specific data run in several rounds, some after any bookkeeping of ours has
// ended.
TEST(Threads, KeyDestructorsThatLock) {
  ASSERT_EQ(0, pthread_key_create(&key, use_in_destructor));
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      EXPECT_RC(0, pthread_rwlock_rdlock(&exit_held));
      pthread_setspecific(key, reinterpret_cast<void*>(std::intptr_t{1}));
    }).join();
    expect_works(&exit_held);
    expect_works(&exit_lock);
  }
  EXPECT_EQ(50 * (PTHREAD_DESTRUCTOR_ITERATIONS - 1), destructor_runs.load());
}

TEST(Threads, KeyDestructorThatReadsAgainBesideAWaitingWriter) {
  ASSERT_EQ(0, pthread_key_create(&key, use_in_destructor));
  for (int i = 0; i < 5; ++i) {
    std::atomic<bool> holds{false}, go_on{false};
    std::thread reader([&] {
      EXPECT_RC(0, pthread_rwlock_rdlock(&exit_held));
      pthread_setspecific(key, reinterpret_cast<void*>(std::intptr_t{1}));
      holds = true;
      holds.notify_all();
      go_on.wait(false);
    });
    holds.wait(false);
    Actor writer;
    writer.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&exit_held));
      EXPECT_RC(0, pthread_rwlock_unlock(&exit_held));
    });
    EXPECT_TRUE(writer.blocked());
    go_on = true;
    go_on.notify_all();
    reader.join();
    writer.finish();
  }
}

TEST(Threads, ThreadLocalDestructorsThatLock) {
  for (int i = 0; i < 50; ++i)
    std::thread([] {
      static thread_local UsesLocksAtThreadExit object;
      (void)&object;
      EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
    }).join();
  expect_works(&exit_lock);
}

TEST(Threads, HoldOfAnExitedThreadStays) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int reads : {0, 3000}) {
    warm_up_readers(&lock, reads);
    std::thread([&] { EXPECT_RC(0, pthread_rwlock_rdlock(&lock)); }).join();
    for (int i = 0; i < 20; ++i)
      std::thread([&] {
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
        EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      }).join();
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
  }
}

// ---- cancellation

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

// ---- signals

namespace {

Guarded in_handler[3];  // [0] and [1]: read by handlers and by the interrupted thread; [2]: by
                        // handlers alone
std::atomic<long> handled{0};

void lock_in_handler(int) {
  const int saved = errno;
  Guarded& g = in_handler[handled.fetch_add(1) % 3];
  if (pthread_rwlock_tryrdlock(&g.lock) == 0) {
    g.read_inside();
    if (pthread_rwlock_tryrdlock(&in_handler[2].lock) == 0)
      pthread_rwlock_unlock(&in_handler[2].lock);
    pthread_rwlock_unlock(&g.lock);
  }
  errno = saved;
}

void on_signal(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

// Sends signals to `target` at a brisk pace until told to stop.
class Pelter {
 public:
  explicit Pelter(pthread_t target)
      : thread_([this, target] {
          while (!over_) {
            pthread_kill(target, SIGUSR1);
            timespec t{0, 20'000};
            nanosleep(&t, nullptr);
          }
        }) {}
  ~Pelter() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace

// A handler that reads (by the try form) interrupts lock calls at every instruction sooner or
// later. The bookkeeping must survive: at the end every lock is free.
TEST(Signals, HandlersThatReadInterruptReaders) {
  on_signal(SIGUSR1, lock_in_handler, SA_RESTART);
  std::atomic<bool> over{false};
  std::thread worker([&] {
    while (!over)
      for (int i = 0; i < 2; ++i) {
        Guarded& g = in_handler[i];
        EXPECT_EQ(0, pthread_rwlock_rdlock(&g.lock));
        EXPECT_EQ(0, pthread_rwlock_rdlock(&g.lock));
        g.read_inside();
        EXPECT_EQ(0, pthread_rwlock_unlock(&g.lock));
        EXPECT_EQ(0, pthread_rwlock_unlock(&g.lock));
      }
  });
  {
    Pelter pelter(worker.native_handle());
    timespec t{0, 0};
    const std::int64_t end = milliseconds() + scaled(500);
    t.tv_nsec = 5 * kMillisecond;
    while (milliseconds() < end || handled < 20)
      nanosleep(&t, nullptr);
  }
  over = true;
  worker.join();
  for (Guarded& g : in_handler) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
}

// The same while writers come and go elsewhere.
TEST(Signals, HandlersThatReadBesideWriters) {
  on_signal(SIGUSR1, lock_in_handler, SA_RESTART);
  std::atomic<bool> over{false};
  std::thread worker([&] {
    while (!over)
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(0, pthread_rwlock_rdlock(&in_handler[i].lock));
        in_handler[i].read_inside();
        EXPECT_EQ(0, pthread_rwlock_unlock(&in_handler[i].lock));
      }
  });
  {
    Pelter pelter(worker.native_handle());
    const std::int64_t end = milliseconds() + scaled(500);
    for (int i = 0; milliseconds() < end || handled < 20; ++i) {
      Guarded& g = in_handler[i % 3];
      ASSERT_EQ(0, pthread_rwlock_wrlock(&g.lock));
      g.write_inside();
      ASSERT_EQ(0, pthread_rwlock_unlock(&g.lock));
      if (i % 8 == 0) usleep(50);
    }
  }
  over = true;
  worker.join();
  for (Guarded& g : in_handler) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
}

// A wait that a signal interrupts goes on: no call returns EINTR, or early, or without the lock.
TEST(Signals, InterruptedWaitsGoOn) {
  on_signal(
      SIGUSR1, [](int) {}, 0);  // without SA_RESTART: system calls return EINTR
  for (int form = 0; form < 4; ++form) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    std::atomic<bool> released{false}, started{false};
    std::thread waiter([&] {
      const timespec far = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
      started = true;
      switch (form) {
        case 0:
          EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
          break;
        case 1:
          EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
          break;
        case 2:
          EXPECT_RC(0, pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &far));
          break;
        case 3:
          EXPECT_RC(0, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &far));
          break;
      }
      EXPECT_TRUE(released.load()) << "admitted beside a writer";
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    while (!started)
      sched_yield();
    {
      Pelter pelter(waiter.native_handle());
      usleep(60'000);
    }
    released = true;
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    waiter.join();
    expect_works(&lock);
  }
}

TEST(Signals, InterruptedTimedWaitsKeepTheirDeadline) {
  on_signal(
      SIGUSR1, [](int) {}, 0);
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
  std::atomic<pthread_t> self{};
  Actor waiter;
  waiter.run([&] { self = pthread_self(); });
  for (bool write : {false, true}) {
    Pelter pelter(self);
    waiter.run([&] {
      const timespec deadline = after(CLOCK_MONOTONIC, 50 * kMillisecond);
      EXPECT_RC(ETIMEDOUT, write ? pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &deadline)
                                 : pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &deadline));
      EXPECT_TRUE(reached(CLOCK_MONOTONIC, deadline));
    });
  }
  ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  expect_works(&lock);
}

// Wake-ups that nobody sent: memory that held a lock is reused while a late FUTEX_WAKE is under
// way, so a waiter must expect one on any word at any time.
TEST(Signals, StrayWakeUps) {
  static Guarded guarded;
  std::atomic<bool> over{false};
  std::thread waker([&] {
    std::mt19937 random(seed());
    while (!over) {
      auto* words = reinterpret_cast<std::uint32_t*>(&guarded.lock);
      syscall(SYS_futex, words + random() % (sizeof(L) / 4), 129 /* FUTEX_WAKE_PRIVATE */, INT_MAX,
              nullptr, nullptr, 0);
    }
  });
  hammer(spinning() ? processors() : 5, scaled(300), [&](int, std::mt19937& random) {
    const bool write = random() % 3 == 0;
    ASSERT_EQ(0,
              write ? pthread_rwlock_wrlock(&guarded.lock) : pthread_rwlock_rdlock(&guarded.lock));
    if (write)
      guarded.write_inside();
    else
      guarded.read_inside();
    if (random() % 4 == 0) sched_yield();
    ASSERT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
  });
  over = true;
  waker.join();
  EXPECT_EQ(0u, guarded.violations.load());
  expect_works(&guarded.lock);
}
