// Condition variables with each mutex that glibc has: what a wait does to it, in each form.
#include <array>
#include <memory>
#include <sched.h>
#include <string>
#include <unistd.h>

#include "../asleep.h"
#include "mutex_support.h"

namespace conformance::cond_mutexes {

namespace {

struct Variety {
  const char* name;
  int type = PTHREAD_MUTEX_NORMAL;
  bool robust = false;
  int protocol = PTHREAD_PRIO_NONE;
  bool shared = false;
};
// Those that protect a priority are for threads of real-time policies: cond_release.cpp.
constexpr Variety kVarieties[] = {
    {"normal"},
    {"recursive", PTHREAD_MUTEX_RECURSIVE},
    {"errorcheck", PTHREAD_MUTEX_ERRORCHECK},
    {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP},
    {"robust", PTHREAD_MUTEX_NORMAL, true},
    {"robust recursive", PTHREAD_MUTEX_RECURSIVE, true},
    {"inheriting", PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_INHERIT},
    {"inheriting robust", PTHREAD_MUTEX_ERRORCHECK, true, PTHREAD_PRIO_INHERIT},
    {"shared", PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_NONE, true},
    {"shared robust", PTHREAD_MUTEX_NORMAL, true, PTHREAD_PRIO_NONE, true},
};

// A mutex of that variety, a condition variable and a predicate.
struct Box {
  explicit Box(const Variety& v) {
    pthread_mutexattr_t a;
    EXPECT_RC(0, pthread_mutexattr_init(&a));
    EXPECT_RC(0, pthread_mutexattr_settype(&a, v.type));
    EXPECT_RC(0, pthread_mutexattr_setrobust(
                     &a, v.robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED));
    EXPECT_RC(0, pthread_mutexattr_setprotocol(&a, v.protocol));
    EXPECT_RC(0, pthread_mutexattr_setpshared(
                     &a, v.shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE));
    EXPECT_RC(0, pthread_mutex_init(&m, &a));
    EXPECT_RC(0, pthread_mutexattr_destroy(&a));
  }
  ~Box() {
    EXPECT_RC(0, pthread_cond_destroy(&c));
    EXPECT_RC(0, pthread_mutex_destroy(&m));
  }
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  void lock() { ASSERT_RC(0, pthread_mutex_lock(&m)); }
  void unlock() { ASSERT_RC(0, pthread_mutex_unlock(&m)); }
  void await_waiters(int n) {
    for (bool there = false; !there; sched_yield()) {
      lock();
      there = waiting == n;
      unlock();
    }
  }

  pthread_mutex_t m;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  int items = 0, waiting = 0;
  std::atomic<int> tid{0};  // of the thread that will be cancelled
};

template <class Case>
void for_each_variety(const Case& body) {
  for (const Variety& v : kVarieties) {
    SCOPED_TRACE(v.name);
    Box b(v);
    body(b, v);
  }
}

struct Cleaned {
  Box* box;
  int held = -1;
};
void clean_up(void* p) {
  auto* cleaned = static_cast<Cleaned*>(p);
  Actor other;
  other.run([&] { cleaned->held = pthread_mutex_trylock(&cleaned->box->m) == EBUSY; });
  EXPECT_RC(0, pthread_mutex_unlock(&cleaned->box->m));
}

// Waits for its condition variable again and again, with a clean-up handler in place.
void wait_until_cancelled(Cleaned& cleaned, int cancel_type) {
  Box& b = *cleaned.box;
  b.tid = gettid();
  b.lock();
  ++b.waiting;
  pthread_cleanup_push(clean_up, &cleaned);
  int old;
  pthread_setcanceltype(cancel_type, &old);
  for (;;)
    pthread_cond_wait(&b.c, &b.m);
  pthread_cleanup_pop(0);
}

}  // namespace

TEST(CondVarieties, SignalsAndBroadcasts) {
  for_each_variety([](Box& b, const Variety&) {
    for (const bool broadcast : {false, true}) {
      std::array<Actor, 4> waiters;
      for (Actor& w : waiters) {
        w.start([&] {
          b.lock();
          ++b.waiting;
          while (b.items == 0)
            ASSERT_RC(0, pthread_cond_wait(&b.c, &b.m));
          --b.items;
          --b.waiting;
          b.unlock();
        });
      }
      b.await_waiters(4);
      b.lock();
      b.items = 4;
      for (int i = 0; i < (broadcast ? 1 : 4); ++i)
        EXPECT_RC(0, broadcast ? pthread_cond_broadcast(&b.c) : pthread_cond_signal(&b.c));
      b.unlock();
      for (Actor& w : waiters)
        w.finish();
    }
  });
}

TEST(CondVarieties, TimeOutsByBothClocks) {
  for_each_variety([](Box& b, const Variety&) {
    for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
      b.lock();
      const timespec at = after(clock, 3 * kMillisecond);
      EXPECT_RC(ETIMEDOUT, pthread_cond_clockwait(&b.c, &b.m, clock, &at));
      EXPECT_TRUE(reached(clock, at));
      Actor other;
      other.run([&] { EXPECT_RC(EBUSY, pthread_mutex_trylock(&b.m)); });
      b.unlock();
    }
  });
}

// The mutex is the thread's when its clean-up handlers run, however it may be cancelled.
TEST(CondVarieties, Cancellation) {
  for_each_variety([](Box& b, const Variety&) {
    for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
      Cleaned cleaned{&b};
      b.waiting = 0;
      std::thread waiter([&] { wait_until_cancelled(cleaned, type); });
      b.await_waiters(1);
      while (!is_asleep(b.tid))  // glibc's wait may be cancelled asynchronously only there
        usleep(200);
      pthread_cancel(waiter.native_handle());
      waiter.join();
      EXPECT_EQ(1, cleaned.held);
    }
  });
}

// Threads that may be cancelled at any time, by their own wish: no wait leaves anything behind.
TEST(CondVarieties, AsynchronousCancellationAmidWakeUps) {
  if (glibc_conds()) GTEST_SKIP() << "glibc: pthread_cond_wait is not async-cancel-safe";
  for (int round = 0; round < scaled(1000); ++round) {
    Box b(kVarieties[0]);
    Cleaned cleaned{&b};
    std::thread cancelled([&] { wait_until_cancelled(cleaned, PTHREAD_CANCEL_ASYNCHRONOUS); });
    b.await_waiters(1);
    std::atomic<bool> go{false};
    std::thread canceller([&] {
      while (!go) {}
      for (int i = 0; i < round % 100 * 10; ++i)
        sched_getcpu();
      pthread_cancel(cancelled.native_handle());
    });
    go = true;
    for (int i = 0; i < 20; ++i)
      EXPECT_RC(0, i % 3 == 2 ? pthread_cond_broadcast(&b.c) : pthread_cond_signal(&b.c));
    canceller.join();
    cancelled.join();
    EXPECT_EQ(1, cleaned.held);
    Actor waiter;
    waiter.start([&] {
      b.lock();
      ++b.waiting;
      while (b.items == 0)
        pthread_cond_wait(&b.c, &b.m);
      b.unlock();
    });
    b.await_waiters(2);
    b.lock();
    b.items = 1;
    b.unlock();
    EXPECT_RC(0, pthread_cond_signal(&b.c));
    waiter.finish();
  }
}

// The owner of a robust mutex dies while others wait: a wait says so, and the mutex is held.
TEST(CondVarieties, ADeadOwnerShowsInAWait) {
  for_each_variety([](Box& b, const Variety& v) {
    if (!v.robust) return;
    for (const bool repairs : {true, false}) {
      int first = -1, second = -1;
      Actor waiter;
      waiter.start([&] {
        b.lock();
        ++b.waiting;
        first = pthread_cond_wait(&b.c, &b.m);
        --b.waiting;
        if (repairs) {
          EXPECT_RC(0, pthread_mutex_consistent(&b.m));
        }
        EXPECT_RC(0, pthread_mutex_unlock(&b.m));
        second = pthread_mutex_lock(&b.m);
        if (second == 0) b.unlock();
      });
      b.await_waiters(1);
      std::thread([&] {
        b.lock();
        EXPECT_RC(0, pthread_cond_signal(&b.c));
      }).join();  // it ends with the mutex
      waiter.finish();
      EXPECT_EQ(EOWNERDEAD, first);
      EXPECT_EQ(repairs ? 0 : ENOTRECOVERABLE, second);
    }
  });
}

// As soon as a broadcast is done the condition variable may go, with the mutex held and without.
TEST(CondVarieties, DestroyAfterABroadcast) {
  for_each_variety([](Box& b, const Variety&) {
    for (int round = 0; round < scaled(20); ++round) {
      auto c = std::make_unique<pthread_cond_t>(pthread_cond_t PTHREAD_COND_INITIALIZER);
      bool go = false;
      b.waiting = 0;
      std::array<Actor, 3> waiters;
      for (Actor& w : waiters) {
        w.start([&] {
          b.lock();
          ++b.waiting;
          while (!go)
            ASSERT_RC(0, pthread_cond_wait(c.get(), &b.m));
          b.unlock();
        });
      }
      b.await_waiters(3);
      b.lock();
      go = true;
      EXPECT_RC(0, pthread_cond_broadcast(c.get()));
      if (round % 2 != 0) b.unlock();
      EXPECT_RC(0, pthread_cond_destroy(c.get()));
      c.reset();
      if (round % 2 == 0) b.unlock();
      for (Actor& w : waiters)
        w.finish();
    }
  });
}

// A child has the mutex that the forking thread held, and none of the threads that waited.
TEST(CondVarieties, AChildWaitsAndWakes) {
  if (glibc_conds()) GTEST_SKIP() << "glibc: a child counts its parent's waiters";
  for_each_variety([](Box& b, const Variety& v) {
    if (v.robust || v.protocol != PTHREAD_PRIO_NONE || v.shared) return;  // not for children
    std::array<Actor, 2> waiters;
    for (Actor& w : waiters) {
      w.start([&] {
        b.lock();
        ++b.waiting;
        while (b.items == 0)
          ASSERT_RC(0, pthread_cond_wait(&b.c, &b.m));
        --b.waiting;
        b.unlock();
      });
    }
    b.await_waiters(2);
    b.lock();
    const int status = in_child([&] {
      if (v.type == PTHREAD_MUTEX_NORMAL || v.type == PTHREAD_MUTEX_ADAPTIVE_NP)
        b.unlock();
      else if (pthread_mutex_init(&b.m, nullptr) != 0)
        return 1;  // the owner was another thread id
      b.waiting = 100;
      std::thread waiter([&] {
        b.lock();
        ++b.waiting;
        while (b.items == 0)
          pthread_cond_wait(&b.c, &b.m);
        b.unlock();
      });
      b.await_waiters(101);
      b.lock();
      b.items = 1;
      b.unlock();
      pthread_cond_signal(&b.c);
      waiter.join();
      return pthread_cond_destroy(&b.c);
    });
    EXPECT_EQ(0, status);
    b.items = 1;
    b.unlock();
    EXPECT_RC(0, pthread_cond_broadcast(&b.c));
    for (Actor& w : waiters)
      w.finish();
    b.items = 0;
  });
}

}  // namespace conformance::cond_mutexes
