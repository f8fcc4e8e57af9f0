// Signals: handlers that lock at every moment of the code that they interrupt, waits that a signal
// interrupts, and wake-ups that nobody sent.
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <sys/syscall.h>

#include "support.h"

namespace conformance::rwlock_signals {

namespace {

using L = pthread_rwlock_t;

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

// Sends signals to `target` at a brisk pace until its destructor stops it.
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
    const std::int64_t end = milliseconds() + scaled_time(500);
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
    const std::int64_t end = milliseconds() + scaled_time(500);
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

// ---- handlers amid the bookkeeping of many holds, and amid the very first call on a lock

namespace {

constexpr int kMany = 300;
L many[kMany];
std::atomic<L*> fresh{nullptr};
std::atomic<long> failures{0};

unsigned draw() {  // for handlers: no state that the interrupted code shares
  static std::atomic<std::uint32_t> state{1};
  return state.fetch_add(0x9E3779B9u) >> 8;
}

// Takes up to eight of the locks that the interrupted thread holds too, or is just taking.
void read_many_in_handler(int) {
  const int saved = errno;
  L* held[8];
  int n = 0;
  for (unsigned i = draw() % 8; i > 0; --i) {
    L* lock = &many[draw() % kMany];
    const int rc = pthread_rwlock_tryrdlock(lock);
    if (rc == 0)
      held[n++] = lock;
    else if (rc != EBUSY)
      ++failures;
  }
  while (n > 0)
    if (pthread_rwlock_unlock(held[--n]) != 0) ++failures;
  ++handled;
  errno = saved;
}

void try_fresh_in_handler(int) {
  const int saved = errno;
  if (L* lock = fresh; lock != nullptr) {
    const bool write = draw() % 2 == 0;
    const int rc = write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock);
    if (rc == 0 ? pthread_rwlock_unlock(lock) != 0 : rc != EBUSY) ++failures;
    ++handled;
  }
  errno = saved;
}

// Runs `step` in a thread that signals rain on, for a while and until some were handled, and
// `at_end` there when no more come.
void amid_signals(
    void (*handler)(int), const std::function<void()>& step,
    const std::function<void()>& at_end = [] {}) {
  on_signal(SIGUSR1, handler, SA_RESTART);
  std::atomic<bool> over{false}, quiet{false};
  std::thread worker([&] {
    while (!over)
      step();
    quiet.wait(false);
    at_end();
  });
  {
    Pelter pelter(worker.native_handle());
    const std::int64_t end = milliseconds() + scaled_time(400);
    while (milliseconds() < end || handled < 20)
      usleep(5'000);
    over = true;
  }
  quiet = true;
  quiet.notify_all();
  worker.join();
  EXPECT_EQ(0, failures.load());
}

}  // namespace

TEST(Signals, HandlersInterruptTheBookkeepingOfManyHolds) {
  std::mt19937 random(seed());
  std::vector<int> held;
  const auto release = [&](size_t i) {
    EXPECT_EQ(0, pthread_rwlock_unlock(&many[held[i]]));
    held[i] = held.back();
    held.pop_back();
  };
  amid_signals(read_many_in_handler, [&] {
    if (held.size() < 2 || (held.size() < 60 && random() % 2 == 0)) {
      const int i = static_cast<int>(random() % kMany);
      EXPECT_EQ(0, pthread_rwlock_rdlock(&many[i]));
      held.push_back(i);
    } else {
      release(random() % held.size());
    }
  });
  while (!held.empty())
    release(0);
  for (L& lock : many)
    expect_free(&lock);
}

TEST(Signals, HandlersInterruptTheFirstCallOnALock) {
  static L lock;
  unsigned round = 0;
  amid_signals(try_fresh_in_handler, [&] {
    fresh = nullptr;
    lock = L{};
    fresh = &lock;
    EXPECT_EQ(0, ++round % 2 == 0 ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
    EXPECT_EQ(0, pthread_rwlock_unlock(&lock));
  });
  expect_works(&lock);
}

// Handlers that leave with a lock held, for the interrupted thread to release. What a lock keeps
// for each thread must not be given out twice.
namespace {

constexpr int kPool = 6;
Guarded pool[kPool];
thread_local int kept = -1;

void keep_in_handler(int) {
  const int saved = errno;
  if (kept < 0) {
    const int i = static_cast<int>(draw() % kPool);
    if (pthread_rwlock_trywrlock(&pool[i].lock) == 0) kept = i;
    ++handled;
  }
  errno = saved;
}

}  // namespace

TEST(Signals, HandlersThatKeepALock) {
  static Guarded guarded;
  const auto step = [] {
    EXPECT_EQ(0, pthread_rwlock_wrlock(&guarded.lock));
    guarded.write_inside();
    EXPECT_EQ(0, pthread_rwlock_unlock(&guarded.lock));
    if (kept < 0) return;
    Guarded& g = pool[kept];
    g.write_inside();
    EXPECT_EQ(0, pthread_rwlock_unlock(&g.lock));
    kept = -1;
  };
  const auto release_kept = [] {
    // No signals come any more.
    if (kept >= 0) {
      EXPECT_EQ(0, pthread_rwlock_unlock(&pool[kept].lock));
    }
  };
  std::atomic<bool> over{false};
  std::thread second([&] {
    while (!over)
      step();
  });
  amid_signals(keep_in_handler, step, release_kept);
  over = true;
  second.join();
  EXPECT_EQ(0u, guarded.violations.load());
  for (Guarded& g : pool) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
  expect_works(&guarded.lock);
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
  hammer(spinning() ? processors() : 5, scaled_time(300), [&](int, std::mt19937& random) {
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

}  // namespace conformance::rwlock_signals
