// Mutexes that are waited for: exclusion, time-outs, fork, cancellation.
#include <memory>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "mutex_support.h"

namespace conformance::mutex_contended {

namespace {
// Data that only exclusion keeps right.
struct Counter {
  explicit Counter(int type) : m(type) {}
  Mutex m;
  std::uint64_t a = 0, b = 0;
  std::atomic<std::uint64_t> bad{0};
  void inside() {
    if (a != b) ++bad;
    ++a;
    if (a % 64 == 0) sched_yield();
    ++b;
  }
};
}  // namespace

TEST(MutexContended, ExcludesInEveryForm) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Counter c(k.type);
    std::atomic<std::uint64_t> entered{0};
    hammer(spinning() ? 3 : 8, scaled(60), [&](int, std::mt19937& random) {
      const unsigned what = random() % 8;
      int got;
      if (what < 4) {
        got = pthread_mutex_lock(c.m);
      } else if (what == 4) {
        got = pthread_mutex_trylock(c.m);
      } else {
        const clockid_t clock = what == 5 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        const timespec at = after(clock, static_cast<std::int64_t>(random() % 100) * kMicrosecond);
        got = what == 5 ? pthread_mutex_timedlock(c.m, &at)
                        : pthread_mutex_clocklock(c.m, clock, &at);
      }
      if (got != 0) {
        EXPECT_EQ(what == 4 ? EBUSY : ETIMEDOUT, got);
        return;
      }
      c.inside();
      ++entered;
      if (k.type == PTHREAD_MUTEX_RECURSIVE && what % 2 == 0) {
        EXPECT_EQ(0, pthread_mutex_lock(c.m));
        c.inside();
        ++entered;
        EXPECT_EQ(0, pthread_mutex_unlock(c.m));
      }
      EXPECT_EQ(0, pthread_mutex_unlock(c.m));
    });
    EXPECT_EQ(0u, c.bad);
    EXPECT_EQ(entered, c.a);
    EXPECT_EQ(entered, c.b);
    expect_mutex_free(c.m);
    EXPECT_RC(0, pthread_mutex_destroy(c.m));
  }
}

TEST(MutexTimed, NeverGivesUpEarly) {
  Mutex m;
  Actor holder;
  holder.run([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
  for (const std::int64_t delta :
       {-kMillisecond, 0L, kMicrosecond, 50 * kMicrosecond, 20 * kMillisecond}) {
    timespec at = after(CLOCK_REALTIME, delta);
    EXPECT_RC(ETIMEDOUT, pthread_mutex_timedlock(m, &at));
    EXPECT_TRUE(reached(CLOCK_REALTIME, at));
    for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
      at = after(clock, delta);
      EXPECT_RC(ETIMEDOUT, pthread_mutex_clocklock(m, clock, &at));
      EXPECT_TRUE(reached(clock, at));
    }
  }
  const timespec long_past{-1, 0};
  EXPECT_RC(ETIMEDOUT, pthread_mutex_timedlock(m, &long_past));
  holder.run([&] { ASSERT_RC(0, pthread_mutex_unlock(m)); });
  expect_mutex_free(m);
}

// A bad deadline matters only to a thread that must wait; a bad clock always matters.
TEST(MutexTimed, BadArguments) {
  Mutex m;
  const timespec bad[] = {{0, -1}, {0, 1'000'000'000}};
  const timespec good = after(CLOCK_MONOTONIC, 1000 * kMillisecond);
  for (const timespec& t : bad) {
    EXPECT_RC(0, pthread_mutex_timedlock(m, &t));
    EXPECT_RC(0, pthread_mutex_unlock(m));
    EXPECT_RC(0, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t));
    EXPECT_RC(0, pthread_mutex_unlock(m));
  }
  EXPECT_RC(EINVAL, pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &good));
  Actor holder;
  holder.run([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
  for (const timespec& t : bad) {
    EXPECT_RC(EINVAL, pthread_mutex_timedlock(m, &t));
    EXPECT_RC(EINVAL, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t));
  }
  holder.run([&] { ASSERT_RC(0, pthread_mutex_unlock(m)); });
  expect_mutex_free(m);
}

TEST(MutexTimed, GetsItBeforeTheDeadline) {
  Mutex m;
  for (int i = 0; i < 4; ++i) {
    ASSERT_RC(0, pthread_mutex_lock(m));
    Actor waiter;
    waiter.start([&] {
      const timespec at = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
      EXPECT_RC(0, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at));
      EXPECT_RC(0, pthread_mutex_unlock(m));
    });
    if (i % 2 == 0) {
      EXPECT_TRUE(waiter.blocked());
    }
    ASSERT_RC(0, pthread_mutex_unlock(m));
    waiter.finish();
    expect_mutex_free(m);
  }
}

// Some waiters give up, in front of others and behind them; the others still get it.
TEST(MutexTimed, WhoGivesUpLeavesAQueueThatWorks) {
  for (int pattern = 0; pattern < 16; ++pattern) {
    Mutex m;
    ASSERT_RC(0, pthread_mutex_lock(m));
    std::vector<std::unique_ptr<Actor>> waiters;
    for (int i = 0; i < 4; ++i) {
      const bool gives_up = (pattern >> i & 1) != 0;
      waiters.push_back(std::make_unique<Actor>());
      waiters.back()->start([&m, gives_up] {
        if (gives_up) {
          const timespec at = after(CLOCK_MONOTONIC, 2 * kMillisecond);
          EXPECT_RC(ETIMEDOUT, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at));
        } else {
          EXPECT_RC(0, pthread_mutex_lock(m));
          EXPECT_RC(0, pthread_mutex_unlock(m));
        }
      });
      if (!gives_up) waiters.back()->wait_until_asleep();
    }
    for (int i = 0; i < 4; ++i) {
      if ((pattern >> i & 1) != 0) waiters[i]->finish();
    }
    ASSERT_RC(0, pthread_mutex_unlock(m));
    for (auto& w : waiters)
      w->finish();
    expect_mutex_free(m);
    EXPECT_RC(0, pthread_mutex_destroy(m));
  }
}

// A thread that tries again and again while another holds it leaves a mutex that works.
// (tests/unit/mutex_test.cpp looks at the memory that it leaves behind.)
TEST(MutexTimed, TimeOutsByTheThousand) {
  Mutex m;
  Actor holder;
  holder.run([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
  for (int i = 0; i < scaled(2000); ++i) {
    const timespec at = after(CLOCK_MONOTONIC, i % 2 == 0 ? 0 : 20 * kMicrosecond);
    ASSERT_EQ(ETIMEDOUT, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at));
  }
  holder.run([&] { ASSERT_RC(0, pthread_mutex_unlock(m)); });
  expect_mutex_free(m);
}

// --- fork

namespace {
int ends_well(const std::function<int()>& f) {
  const int status = in_child(f);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
}  // namespace

// The holder forks; those that wait behind it do not exist in the child. Its unlock and lock work.
TEST(MutexFork, WaitersBehindTheHolder) {
  Mutex m;
  Actor first, second, timed;
  ASSERT_RC(0, pthread_mutex_lock(m));
  for (Actor* a : {&first, &second}) {
    a->start([&] {
      ASSERT_RC(0, pthread_mutex_lock(m));
      ASSERT_RC(0, pthread_mutex_unlock(m));
    });
    a->wait_until_asleep();
  }
  timed.start([&] {
    const timespec at = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
    ASSERT_RC(0, pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at));
    ASSERT_RC(0, pthread_mutex_unlock(m));
  });
  timed.wait_until_asleep();
  EXPECT_EQ(0, ends_well([&] {
              if (pthread_mutex_trylock(m) != EBUSY) return 1;
              if (pthread_mutex_unlock(m) != 0) return 2;
              for (int i = 0; i < 3; ++i) {
                if (pthread_mutex_lock(m) != 0) return 3;
                if (pthread_mutex_unlock(m) != 0) return 4;
              }
              if (pthread_mutex_trylock(m) != 0) return 5;
              return pthread_mutex_unlock(m) == 0 ? 0 : 6;
            }));
  ASSERT_RC(0, pthread_mutex_unlock(m));
  first.finish();
  second.finish();
  timed.finish();
  expect_mutex_free(m);
}

TEST(MutexFork, AnotherThreadsHoldStays) {
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    Actor holder;
    holder.run([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
    EXPECT_EQ(0, ends_well([&] {
                if (pthread_mutex_trylock(m) != EBUSY) return 1;
                const timespec at = after(CLOCK_REALTIME, kMillisecond);
                if (pthread_mutex_timedlock(m, &at) != ETIMEDOUT) return 2;
                if (pthread_mutex_init(m, nullptr) != 0)
                  return 3;  // as handlers of pthread_atfork do
                if (pthread_mutex_lock(m) != 0) return 4;
                return pthread_mutex_unlock(m) == 0 ? 0 : 5;
              }));
    holder.run([&] { ASSERT_RC(0, pthread_mutex_unlock(m)); });
  }
}

TEST(MutexFork, FreeOnesAndGrandchildren) {
  Mutex m;
  ASSERT_RC(0, pthread_mutex_lock(m));
  ASSERT_RC(0, pthread_mutex_unlock(m));
  EXPECT_EQ(0, ends_well([&] {
              if (pthread_mutex_lock(m) != 0) return 1;
              const int status = in_child([&] {
                return pthread_mutex_unlock(m) == 0 && pthread_mutex_trylock(m) == 0 ? 0 : 2;
              });
              if (status != 0) return 3;
              return pthread_mutex_unlock(m) == 0 ? 0 : 4;
            }));
  expect_mutex_free(m);
}

// The thread that forked goes on as the owner. glibc's owner is the parent's thread, and the child
// cannot unlock.
TEST(MutexFork, OwnersThatAreChecked) {
  if (glibc_mutexes()) GTEST_SKIP() << "glibc: the child's thread is not the owner";
  for (const int type : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    Mutex m(type);
    ASSERT_RC(0, pthread_mutex_lock(m));
    const auto owns = [&] {
      if (pthread_mutex_lock(m) != (type == PTHREAD_MUTEX_RECURSIVE ? 0 : EDEADLK)) return 1;
      if (type == PTHREAD_MUTEX_RECURSIVE && pthread_mutex_unlock(m) != 0) return 2;
      if (pthread_mutex_unlock(m) != 0) return 3;
      return pthread_mutex_unlock(m) == EPERM ? 0 : 4;
    };
    EXPECT_EQ(0, ends_well(owns));
    // Another thread of the child is the first that comes to it.
    EXPECT_EQ(0, ends_well([&] {
                int found = 0;
                std::thread([&] { found = pthread_mutex_trylock(m); }).join();
                return found == EBUSY ? owns() : 5;
              }));
    // Nothing has run in the child before its first call: no handler of pthread_atfork.
    for (const bool just_releases : {false, true}) {
      const pid_t child = _Fork();
      if (child == 0) _exit(just_releases ? pthread_mutex_unlock(m) : owns());
      EXPECT_EQ(0, end_of_child(child));
    }
    ASSERT_RC(0, pthread_mutex_unlock(m));
  }
}

// A process leaves a mutex that it holds, more than once if it can, and with which a thread waits
// for a condition. The bytes come to another process as from a file, and are a new mutex there.
TEST(MutexFork, BytesThatAnotherProcessLeft) {
  if (glibc_mutexes()) GTEST_SKIP() << "glibc: it is held for ever";
  auto* const file = static_cast<pthread_mutex_t*>(mmap(
      nullptr, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(file));
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    ASSERT_EQ(0, ends_well([&] {
                Mutex m(k.type);
                pthread_cond_t c = PTHREAD_COND_INITIALIZER;
                Actor waiter;
                waiter.start([&] {
                  pthread_mutex_lock(m);
                  pthread_cond_wait(&c, m);
                });
                waiter.wait_until_asleep();
                for (int i = 0; i < (k.type == PTHREAD_MUTEX_RECURSIVE ? 3 : 1); ++i)
                  if (pthread_mutex_lock(m) != 0) return 1;
                std::memcpy(file, m, sizeof(pthread_mutex_t));
                _exit(0);
              }));
    pthread_mutex_t m;
    std::memcpy(&m, file, sizeof m);
    Actor other;
    ASSERT_RC(0, pthread_mutex_lock(&m));
    other.run([&] { ASSERT_RC(EBUSY, pthread_mutex_trylock(&m)); });
    ASSERT_RC(0, pthread_mutex_unlock(&m));
    other.run([&] {
      ASSERT_RC(0, pthread_mutex_trylock(&m));
      ASSERT_RC(0, pthread_mutex_unlock(&m));
    });
    ASSERT_RC(0, pthread_mutex_destroy(&m));
  }
  munmap(file, sizeof(pthread_mutex_t));
}

// POSIX leaves open what a private mutex does in shared memory. The child's calls must not take
// from the parent's threads what they wait for.
TEST(MutexFork, OneInSharedMemoryGoesOnInTheParent) {
  auto* m = static_cast<pthread_mutex_t*>(mmap(
      nullptr, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(m));
  ASSERT_RC(0, pthread_mutex_init(m, nullptr));
  ASSERT_RC(0, pthread_mutex_lock(m));
  Actor first, second;
  for (Actor* a : {&first, &second}) {
    a->start([&] {
      ASSERT_RC(0, pthread_mutex_lock(m));
      ASSERT_RC(0, pthread_mutex_unlock(m));
    });
    a->wait_until_asleep();
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(0, ends_well([&] {
                if (pthread_mutex_trylock(m) != EBUSY) return 1;
                const timespec at = after(CLOCK_MONOTONIC, kMillisecond);
                return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at) == ETIMEDOUT ? 0 : 2;
              }));
  }
  ASSERT_RC(0, pthread_mutex_unlock(m));
  first.finish();
  second.finish();
  expect_mutex_free(m);
  ASSERT_RC(0, pthread_mutex_destroy(m));
  munmap(m, sizeof(pthread_mutex_t));
}

TEST(MutexFork, AmongBusyThreads) {
  Counter c(PTHREAD_MUTEX_DEFAULT);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        pthread_mutex_lock(c.m);
        c.inside();
        pthread_mutex_unlock(c.m);
      }
    });
  }
  for (int i = 0; i < scaled(spinning() ? 10 : 40); ++i) {
    ASSERT_RC(0, pthread_mutex_lock(c.m));
    EXPECT_EQ(0, ends_well([&] {
                if (c.a != c.b) return 1;
                if (pthread_mutex_unlock(c.m) != 0) return 2;
                if (pthread_mutex_lock(c.m) != 0) return 3;
                return pthread_mutex_unlock(c.m) == 0 ? 0 : 4;
              }));
    ASSERT_RC(0, pthread_mutex_unlock(c.m));
  }
  stop = true;
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(0u, c.bad);
}

// Waiting for a mutex is no cancellation point.
TEST(MutexCancel, WaitersAreNotCancelled) {
  Mutex m;
  ASSERT_RC(0, pthread_mutex_lock(m));
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    pthread_mutex_lock(m);
    got = true;
    pthread_mutex_unlock(m);
    pthread_testcancel();
    ADD_FAILURE() << "the cancellation got lost";
  });
  usleep(2000);
  pthread_cancel(waiter.native_handle());
  usleep(2000);
  EXPECT_FALSE(got);
  ASSERT_RC(0, pthread_mutex_unlock(m));
  waiter.join();
  EXPECT_TRUE(got);
  expect_mutex_free(m);
}

}  // namespace conformance::mutex_contended
