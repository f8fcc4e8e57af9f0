// Condition variables over each kind of mutex.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <unistd.h>

#include <sys/mman.h>

#include "mutex_support.h"

namespace conformance::cond {

namespace {

struct Box {
  explicit Box(int type = PTHREAD_MUTEX_DEFAULT) : m(type) {
    EXPECT_RC(0, pthread_cond_init(&c, nullptr));
  }
  Mutex m;
  pthread_cond_t c;
  int items = 0;
  int waiting = 0;

  void wait_for_item() {
    ASSERT_RC(0, pthread_mutex_lock(m));
    ++waiting;
    while (items == 0)
      ASSERT_RC(0, pthread_cond_wait(&c, m));
    --items;
    --waiting;
    ASSERT_RC(0, pthread_mutex_unlock(m));
  }
  void put(int n = 1) {
    ASSERT_RC(0, pthread_mutex_lock(m));
    items += n;
    ASSERT_RC(0, pthread_mutex_unlock(m));
  }
  // Until n threads are inside their waits.
  void await_waiters(int n) {
    for (bool there = false; !there; sched_yield()) {
      ASSERT_RC(0, pthread_mutex_lock(m));
      there = waiting == n;
      ASSERT_RC(0, pthread_mutex_unlock(m));
    }
  }
};

}  // namespace

TEST(Cond, SignalWakesAWaiter) {
  for (const MutexKind& k : kMutexKinds) {
    for (bool inside : {true, false}) {
      SCOPED_TRACE(k.name);
      Box b(k.type);
      Actor waiter;
      waiter.start([&] { b.wait_for_item(); });
      b.await_waiters(1);
      ASSERT_RC(0, pthread_mutex_lock(b.m));
      ++b.items;
      if (inside) {
        EXPECT_RC(0, pthread_cond_signal(&b.c));
      }
      ASSERT_RC(0, pthread_mutex_unlock(b.m));
      if (!inside) {
        EXPECT_RC(0, pthread_cond_signal(&b.c));
      }
      waiter.finish();
      EXPECT_RC(0, pthread_cond_destroy(&b.c));
      expect_mutex_free(b.m);
    }
  }
}

TEST(Cond, EachSignalWakesOneMore) {
  Box b;
  std::vector<std::unique_ptr<Actor>> waiters;
  for (int i = 0; i < 5; ++i) {
    waiters.push_back(std::make_unique<Actor>());
    waiters.back()->start([&] { b.wait_for_item(); });
  }
  b.await_waiters(5);
  for (int i = 0; i < 5; ++i) {
    b.put();
    EXPECT_RC(0, pthread_cond_signal(&b.c));
  }
  for (auto& w : waiters)
    w->finish();
  EXPECT_EQ(0, b.items);
}

TEST(Cond, BroadcastWakesAll) {
  for (int n : {1, 2, 7, 40}) {
    Box b;
    std::vector<std::thread> waiters;
    for (int i = 0; i < n; ++i)
      waiters.emplace_back([&] { b.wait_for_item(); });
    b.await_waiters(n);
    b.put(n);
    EXPECT_RC(0, pthread_cond_broadcast(&b.c));
    for (std::thread& w : waiters)
      w.join();
    EXPECT_EQ(0, b.items);
    EXPECT_RC(0, pthread_cond_destroy(&b.c));
    expect_mutex_free(b.m);
  }
}

TEST(Cond, SignalsWithoutWaitersAreForgotten) {
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  Mutex m;
  for (int i = 0; i < 10; ++i) {
    EXPECT_RC(0, pthread_cond_signal(&c));
    EXPECT_RC(0, pthread_cond_broadcast(&c));
  }
  ASSERT_RC(0, pthread_mutex_lock(m));
  const timespec at = after(CLOCK_REALTIME, 5 * kMillisecond);
  EXPECT_RC(ETIMEDOUT, pthread_cond_timedwait(&c, m, &at));
  EXPECT_TRUE(reached(CLOCK_REALTIME, at));
  EXPECT_RC(EBUSY, pthread_mutex_trylock(m));
  EXPECT_RC(0, pthread_mutex_unlock(m));
  EXPECT_RC(0, pthread_cond_destroy(&c));
}

// --- time

TEST(CondTimed, ClocksAndDeadlines) {
  Mutex m;
  pthread_condattr_t a;
  ASSERT_RC(0, pthread_condattr_init(&a));
  for (const clockid_t of_attribute : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    ASSERT_RC(0, pthread_condattr_setclock(&a, of_attribute));
    pthread_cond_t c;
    ASSERT_RC(0, pthread_cond_init(&c, &a));
    ASSERT_RC(0, pthread_mutex_lock(m));
    for (const std::int64_t delta : {-1000 * kMillisecond, 0L, kMillisecond, 10 * kMillisecond}) {
      timespec at = after(of_attribute, delta);
      EXPECT_RC(ETIMEDOUT, pthread_cond_timedwait(&c, m, &at));
      EXPECT_TRUE(reached(of_attribute, at));
      for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
        at = after(clock, delta);
        EXPECT_RC(ETIMEDOUT, pthread_cond_clockwait(&c, m, clock, &at));
        EXPECT_TRUE(reached(clock, at));
      }
    }
    const timespec long_past{-1, 0};
    EXPECT_RC(ETIMEDOUT, pthread_cond_timedwait(&c, m, &long_past));
    EXPECT_RC(EBUSY, pthread_mutex_trylock(m));
    ASSERT_RC(0, pthread_mutex_unlock(m));
    EXPECT_RC(0, pthread_cond_destroy(&c));
  }
}

TEST(CondTimed, BadArguments) {
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  Mutex m;
  ASSERT_RC(0, pthread_mutex_lock(m));
  for (const timespec& t : {timespec{0, -1}, timespec{0, 1'000'000'000}}) {
    EXPECT_RC(EINVAL, pthread_cond_timedwait(&c, m, &t));
    EXPECT_RC(EINVAL, pthread_cond_clockwait(&c, m, CLOCK_MONOTONIC, &t));
  }
  const timespec good{0, 0};
  EXPECT_RC(EINVAL, pthread_cond_clockwait(&c, m, CLOCK_PROCESS_CPUTIME_ID, &good));
  EXPECT_RC(EBUSY, pthread_mutex_trylock(m));
  ASSERT_RC(0, pthread_mutex_unlock(m));
}

TEST(CondTimed, WokenBeforeTheDeadline) {
  Box b;
  Actor waiter;
  waiter.start([&] {
    ASSERT_RC(0, pthread_mutex_lock(b.m));
    ++b.waiting;
    const timespec at = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
    while (b.items == 0)
      ASSERT_RC(0, pthread_cond_clockwait(&b.c, b.m, CLOCK_MONOTONIC, &at));
    ASSERT_RC(0, pthread_mutex_unlock(b.m));
  });
  b.await_waiters(1);
  b.put();
  EXPECT_RC(0, pthread_cond_signal(&b.c));
  waiter.finish();
}

// Many deadlines that pass leave nothing behind.
TEST(CondTimed, TimeOutsByTheThousand) {
  Box b;
  Actor waiter;
  waiter.start([&] { b.wait_for_item(); });
  b.await_waiters(1);
  ASSERT_RC(0, pthread_mutex_lock(b.m));
  for (int i = 0; i < scaled(2000); ++i) {
    const timespec at = after(CLOCK_MONOTONIC, i % 2 == 0 ? 0 : 20 * kMicrosecond);
    ASSERT_EQ(ETIMEDOUT, pthread_cond_clockwait(&b.c, b.m, CLOCK_MONOTONIC, &at));
  }
  ASSERT_RC(0, pthread_mutex_unlock(b.m));
  b.put();
  EXPECT_RC(0, pthread_cond_signal(&b.c));
  waiter.finish();
}

// std::condition_variable waits by pthread_cond_clockwait.
TEST(CondTimed, StandardLibrary) {
  std::mutex m;
  std::condition_variable c;
  bool ready = false;
  std::thread waker([&] {
    std::lock_guard lock(m);
    ready = true;
    c.notify_all();
  });
  std::unique_lock lock(m);
  EXPECT_TRUE(c.wait_for(lock, std::chrono::minutes(10), [&] { return ready; }));
  EXPECT_EQ(std::cv_status::timeout, c.wait_for(lock, std::chrono::milliseconds(1)));
  lock.unlock();
  waker.join();
}

// --- mutexes

// A recursive mutex held twice is released once: as glibc.
TEST(CondMutexes, RecursiveHeldOnce) {
  Box b(PTHREAD_MUTEX_RECURSIVE);
  Actor waiter;
  waiter.start([&] { b.wait_for_item(); });
  b.await_waiters(1);
  ASSERT_RC(0, pthread_mutex_lock(b.m));
  ASSERT_RC(0, pthread_mutex_lock(b.m));
  ++b.items;
  EXPECT_RC(0, pthread_cond_signal(&b.c));
  ASSERT_RC(0, pthread_mutex_unlock(b.m));
  ASSERT_RC(0, pthread_mutex_unlock(b.m));
  waiter.finish();
}

TEST(CondMutexes, NotTheOwners) {
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  for (const int type : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    Mutex m(type);
    EXPECT_RC(EPERM, pthread_cond_wait(&c, m));
    Actor owner;
    owner.run([&] { ASSERT_RC(0, pthread_mutex_lock(m)); });
    EXPECT_RC(EPERM, pthread_cond_wait(&c, m));
    owner.run([&] { ASSERT_RC(0, pthread_mutex_unlock(m)); });
  }
  EXPECT_RC(0, pthread_cond_destroy(&c));
}

// A wait that fails as the mutex isn't the caller's is none: the mutex can be destroyed.
TEST(CondMutexes, AFailedWaitIsNotCounted) {
  for (int i = 0; i < 3; ++i) {
    Mutex m(PTHREAD_MUTEX_ERRORCHECK);
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    EXPECT_RC(EPERM, pthread_cond_wait(&c, m));
    EXPECT_RC(0, pthread_mutex_destroy(m));
    EXPECT_RC(0, pthread_cond_destroy(&c));
  }
}

// Mutexes that stay glibc's, under a condition variable that is private to the process.
TEST(CondMutexes, RobustAndInheriting) {
  for (const bool robust : {true, false}) {
    pthread_mutexattr_t a;
    ASSERT_RC(0, pthread_mutexattr_init(&a));
    if (robust) {
      ASSERT_RC(0, pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    } else {
      ASSERT_RC(0, pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
    }
    Box b;
    ASSERT_RC(0, pthread_mutex_destroy(b.m));
    if (pthread_mutex_init(b.m, &a) != 0) continue;
    Actor waiter;
    waiter.start([&] { b.wait_for_item(); });
    b.await_waiters(1);
    b.put();
    EXPECT_RC(0, pthread_cond_signal(&b.c));
    waiter.finish();
  }
}

// Process-shared ones, with a mutex of the same kind and with one of this process alone.
TEST(CondMutexes, ProcessShared) {
  struct Shared {
    pthread_mutex_t m;
    pthread_cond_t c;
    int items;
  };
  auto* s = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_mutexattr_t ma;
  pthread_condattr_t ca;
  ASSERT_RC(0, pthread_mutexattr_init(&ma));
  ASSERT_RC(0, pthread_condattr_init(&ca));
  ASSERT_RC(0, pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
  ASSERT_RC(0, pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
  ASSERT_RC(0, pthread_mutex_init(&s->m, &ma));
  ASSERT_RC(0, pthread_cond_init(&s->c, &ca));
  const pid_t child = start_child([s] {
    pthread_mutex_lock(&s->m);
    while (s->items == 0) {
      if (pthread_cond_wait(&s->c, &s->m) != 0) return 1;
    }
    s->items = 2;
    pthread_cond_broadcast(&s->c);
    return pthread_mutex_unlock(&s->m);
  });
  pthread_mutex_lock(&s->m);
  s->items = 1;
  EXPECT_RC(0, pthread_cond_signal(&s->c));
  while (s->items != 2)
    ASSERT_RC(0, pthread_cond_wait(&s->c, &s->m));
  pthread_mutex_unlock(&s->m);
  EXPECT_EQ(0, end_of_child(child));

  Mutex own;
  s->items = 0;
  ASSERT_RC(0, pthread_mutex_lock(own));
  timespec at = after(CLOCK_MONOTONIC, 5 * kMillisecond);
  int rc = 0;
  while (rc == 0)
    rc = pthread_cond_clockwait(&s->c, own, CLOCK_MONOTONIC, &at);
  EXPECT_EQ(ETIMEDOUT, rc);
  Actor waker;
  waker.start([&] {
    ASSERT_RC(0, pthread_mutex_lock(own));
    s->items = 1;
    ASSERT_RC(0, pthread_mutex_unlock(own));
    EXPECT_RC(0, pthread_cond_broadcast(&s->c));
  });
  while (s->items == 0)
    ASSERT_RC(0, pthread_cond_wait(&s->c, own));
  ASSERT_RC(0, pthread_mutex_unlock(own));
  waker.finish();
  munmap(s, sizeof(Shared));
}

// What binaries linked before glibc 2.3.2 call: an object of 24 bytes or less that matter.
TEST(CondMutexes, TheOldLayout) {
  using Wait = int (*)(void*, pthread_mutex_t*);
  using TimedWait = int (*)(void*, pthread_mutex_t*, const timespec*);
  using One = int (*)(void*);
  using Init = int (*)(void*, const pthread_condattr_t*);
  const auto old = [](const char* name) { return dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5"); };
  const auto init = reinterpret_cast<Init>(old("pthread_cond_init"));
  if (init == nullptr) GTEST_SKIP() << "this architecture is younger than glibc 2.3.2";
  const auto wait = reinterpret_cast<Wait>(old("pthread_cond_wait"));
  const auto timedwait = reinterpret_cast<TimedWait>(old("pthread_cond_timedwait"));
  const auto signal = reinterpret_cast<One>(old("pthread_cond_signal"));
  const auto broadcast = reinterpret_cast<One>(old("pthread_cond_broadcast"));
  const auto destroy = reinterpret_cast<One>(old("pthread_cond_destroy"));

  struct {
    alignas(8) unsigned char bytes[24];
    unsigned char behind[24];
  } object;
  memset(&object, 0xa5, sizeof object);
  memset(object.bytes, 0, sizeof object.bytes);
  Mutex m;
  int items = 0, waiting = 0;
  for (int round = 0; round < 2; ++round) {
    if (round == 1) {
      ASSERT_EQ(0, init(object.bytes, nullptr));
    }
    items = waiting = 0;
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&] {
        pthread_mutex_lock(m);
        ++waiting;
        while (items == 0)
          EXPECT_EQ(0, wait(object.bytes, m));
        --items;
        pthread_mutex_unlock(m);
      });
    }
    for (bool there = false; !there; sched_yield()) {
      pthread_mutex_lock(m);
      there = waiting == 3;
      pthread_mutex_unlock(m);
    }
    pthread_mutex_lock(m);
    items = 3;
    EXPECT_EQ(0, signal(object.bytes));
    EXPECT_EQ(0, broadcast(object.bytes));
    pthread_mutex_unlock(m);
    for (std::thread& t : waiters)
      t.join();
    pthread_mutex_lock(m);
    const timespec at = after(CLOCK_REALTIME, kMillisecond);
    EXPECT_EQ(ETIMEDOUT, timedwait(object.bytes, m, &at));
    pthread_mutex_unlock(m);
    EXPECT_EQ(0, destroy(object.bytes));
    for (unsigned char byte : object.behind)
      EXPECT_EQ(0xa5, byte);
    memset(object.bytes, round == 0 ? 0xff : 0, sizeof object.bytes);
  }
}

// --- cancellation

namespace {
struct Cleaned {
  pthread_mutex_t* m;
  std::atomic<int> held{-1};
};
void clean_up(void* p) {
  auto* c = static_cast<Cleaned*>(p);
  c->held = pthread_mutex_trylock(c->m) == EBUSY;
  pthread_mutex_unlock(c->m);
}
}  // namespace

// The mutex is the thread's when its clean-up handlers run.
TEST(CondCancel, HandlersHaveTheMutex) {
  for (const bool timed : {false, true}) {
    Box b;
    Cleaned cleaned{b.m.get()};
    std::thread waiter([&] {
      pthread_mutex_lock(b.m);
      ++b.waiting;
      pthread_cleanup_push(clean_up, &cleaned);
      const timespec at = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
      for (;;) {
        if (timed) {
          pthread_cond_clockwait(&b.c, b.m, CLOCK_MONOTONIC, &at);
        } else {
          pthread_cond_wait(&b.c, b.m);
        }
      }
      pthread_cleanup_pop(0);
    });
    b.await_waiters(1);
    pthread_cancel(waiter.native_handle());
    waiter.join();
    EXPECT_EQ(1, cleaned.held);
    expect_mutex_free(b.m);
    EXPECT_RC(0, pthread_cond_destroy(&b.c));
  }
}

// C++ destructors run too, and one that is disabled waits.
TEST(CondCancel, DestructorsAndDisabledThreads) {
  Box b;
  std::atomic<int> destroyed{0};
  std::thread waiter([&] {
    struct Guard {
      std::atomic<int>& n;
      pthread_mutex_t* m;
      ~Guard() {
        ++n;
        pthread_mutex_unlock(m);
      }
    };
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    b.wait_for_item();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    pthread_mutex_lock(b.m);
    const Guard guard{destroyed, b.m};
    ++b.waiting;
    while (b.items == 0)
      pthread_cond_wait(&b.c, b.m);
  });
  b.await_waiters(1);
  pthread_cancel(waiter.native_handle());
  b.put();
  EXPECT_RC(0, pthread_cond_signal(&b.c));
  waiter.join();
  EXPECT_EQ(1, destroyed);
  expect_mutex_free(b.m);
}

// A signal is not lost on a thread that is cancelled at the same time: the other waiter gets it.
TEST(CondCancel, NoSignalIsLost) {
  for (int round = 0; round < scaled(150); ++round) {
    Box b;
    Cleaned cleaned{b.m.get()};
    std::thread cancelled([&] {
      pthread_mutex_lock(b.m);
      ++b.waiting;
      pthread_cleanup_push(clean_up, &cleaned);
      while (b.items == 0)
        pthread_cond_wait(&b.c, b.m);
      pthread_cond_signal(&b.c);  // for the other
      pthread_cleanup_pop(1);
    });
    b.await_waiters(1);
    Actor other;
    other.start([&] {
      pthread_mutex_lock(b.m);
      ++b.waiting;
      while (b.items == 0)
        pthread_cond_wait(&b.c, b.m);
      pthread_mutex_unlock(b.m);
    });
    b.await_waiters(2);
    b.put();
    std::thread canceller([&] { pthread_cancel(cancelled.native_handle()); });
    EXPECT_RC(0, pthread_cond_signal(&b.c));
    canceller.join();
    cancelled.join();
    other.finish();
    EXPECT_RC(0, pthread_cond_destroy(&b.c));
  }
}

namespace {
struct Table {
  Mutex m;
  pthread_cond_t seats[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
  int turn = 0;
  bool left = false;
};
void leave(void* p) {
  auto* table = static_cast<Table*>(p);
  table->left = true;
  pthread_cond_signal(&table->seats[0]);
  pthread_mutex_unlock(table->m);
}
}  // namespace

// Threads that take turns may be awake for each other all the time, and never sleep. A wait is a
// cancellation point all the same.
TEST(CondCancel, ThreadsThatTakeTurns) {
  Table table;
  std::thread player([&] {
    pthread_mutex_lock(table.m);
    pthread_cleanup_push(leave, &table);
    for (;;) {
      while (table.turn != 1)
        pthread_cond_wait(&table.seats[1], table.m);
      table.turn = 0;
      pthread_cond_signal(&table.seats[0]);
    }
    pthread_cleanup_pop(0);
  });
  pthread_mutex_lock(table.m);
  for (int turns = 0; !table.left; ++turns) {
    if (turns == scaled(3000)) pthread_cancel(player.native_handle());
    table.turn = 1;
    pthread_cond_signal(&table.seats[1]);
    while (table.turn != 0 && !table.left)
      pthread_cond_wait(&table.seats[0], table.m);
  }
  pthread_mutex_unlock(table.m);
  player.join();
  expect_mutex_free(table.m);
}

// --- the end of the object

// The memory goes as soon as the broadcast is done, with the mutex held and without.
TEST(CondDestroy, RightAfterBroadcast) {
  for (int round = 0; round < scaled(100); ++round) {
    Mutex m;
    auto* c = static_cast<pthread_cond_t*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(MAP_FAILED, static_cast<void*>(c));
    bool go = false;
    int waiting = 0;
    std::vector<std::thread> waiters;
    for (int t = 0; t < 3; ++t) {
      waiters.emplace_back([&, t] {
        pthread_mutex_lock(m);
        ++waiting;
        while (!go) {
          const timespec at = after(CLOCK_MONOTONIC, 50 * kMicrosecond);
          if (t == 0) {
            pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &at);
          } else {
            pthread_cond_wait(c, m);
          }
        }
        pthread_mutex_unlock(m);
      });
    }
    for (bool done = false; !done; sched_yield()) {
      pthread_mutex_lock(m);
      if (waiting == 3) {
        go = done = true;
        EXPECT_RC(0, pthread_cond_broadcast(c));
        if (round % 2 == 0) {
          EXPECT_RC(0, pthread_cond_destroy(c));
        }
      }
      pthread_mutex_unlock(m);
    }
    if (round % 2 != 0) {
      EXPECT_RC(0, pthread_cond_destroy(c));
    }
    munmap(c, 4096);
    for (std::thread& t : waiters)
      t.join();
  }
}

// --- fork

// Waiters do not exist in a child, and take no signal from the waiters that do.
TEST(CondFork, WaitersStayInTheParent) {
  if (glibc_conds()) GTEST_SKIP() << "glibc: a child counts its parent's waiters";
  Box b;
  Actor first, second;
  first.start([&] { b.wait_for_item(); });
  second.start([&] { b.wait_for_item(); });
  b.await_waiters(2);
  const int status = in_child([&] {
    std::thread waiter([&] {
      pthread_mutex_lock(b.m);
      b.waiting = 100;
      while (b.items == 0)
        pthread_cond_wait(&b.c, b.m);
      pthread_mutex_unlock(b.m);
    });
    b.await_waiters(100);
    b.put();
    pthread_cond_signal(&b.c);
    waiter.join();
    return pthread_cond_destroy(&b.c);
  });
  EXPECT_EQ(0, status);
  b.put(2);
  EXPECT_RC(0, pthread_cond_broadcast(&b.c));
  first.finish();
  second.finish();
}

// --- under load

// A bounded buffer: each item that is put is taken once, in whatever form the threads wait.
TEST(CondStress, BoundedBuffer) {
  for (const int type : {PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_RECURSIVE}) {
    constexpr int kRoom = 4;
    Mutex m(type);
    pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
    std::uint64_t buffer[kRoom];
    int n = 0;
    bool ended = false;
    std::atomic<std::uint64_t> put{0}, taken{0};
    const auto wait = [&](pthread_cond_t* c, unsigned how) {
      const timespec at = after(CLOCK_MONOTONIC, (how % 50) * kMicrosecond);
      const int rc = how % 3 == 0 ? pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &at)
                                  : pthread_cond_wait(c, m);
      EXPECT_TRUE(rc == 0 || rc == ETIMEDOUT);
    };
    std::vector<std::thread> consumers;
    for (int t = 0; t < 3; ++t) {
      consumers.emplace_back([&, t] {
        std::mt19937 random(seed() + static_cast<unsigned>(t));
        for (;;) {
          pthread_mutex_lock(m);
          while (n == 0 && !ended)
            wait(&filled, random());
          if (n == 0) {
            pthread_mutex_unlock(m);
            return;
          }
          taken += buffer[--n];
          random() % 2 == 0 ? pthread_cond_signal(&emptied) : pthread_cond_broadcast(&emptied);
          pthread_mutex_unlock(m);
        }
      });
    }
    hammer(3, scaled(100), [&](int, std::mt19937& random) {
      pthread_mutex_lock(m);
      while (n == kRoom)
        wait(&emptied, random());
      const std::uint64_t item = random() % 1000;
      put += item;
      buffer[n++] = item;
      pthread_mutex_unlock(m);
      pthread_cond_signal(&filled);
    });
    pthread_mutex_lock(m);
    ended = true;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(m);
    for (std::thread& t : consumers)
      t.join();
    EXPECT_EQ(put, taken);
    EXPECT_RC(0, pthread_cond_destroy(&filled));
    EXPECT_RC(0, pthread_cond_destroy(&emptied));
    expect_mutex_free(m);
  }
}

// Two threads, a turn each: a lost wake-up would hang.
TEST(CondStress, PingPong) {
  Mutex m;
  pthread_cond_t c[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
  int turn = 0;
  const int rounds = scaled(spinning() ? 200 : 2000);
  const auto play = [&](int me) {
    for (int i = 0; i < rounds; ++i) {
      pthread_mutex_lock(m);
      while (turn != me)
        pthread_cond_wait(&c[me], m);
      turn = !me;
      pthread_cond_signal(&c[!me]);
      pthread_mutex_unlock(m);
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
}

}  // namespace conformance::cond
