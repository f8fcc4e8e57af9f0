// Condition variables: nobody who was woken depends on a thread that doesn't run. Waiters that sit
// in signal handlers, waiters of real-time policies, handlers that fork.
#include <array>
#include <csignal>
#include <memory>
#include <sched.h>
#include <unistd.h>

#include <sys/wait.h>

#include "../asleep.h"
#include "mutex_support.h"

namespace conformance::cond_release {

namespace {

// --- threads stopped by a signal, as a garbage collector stops them

std::atomic<int> stopped_threads{0};
std::atomic<bool> may_go_on{true};

void stop_here(int) {
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, SIGUSR2);
  stopped_threads.fetch_add(1);
  while (!may_go_on.load())
    sigsuspend(&others);
  stopped_threads.fetch_sub(1);
}
void nothing(int) {}

class Stopper {
 public:
  Stopper() {
    may_go_on = false;
    handle(SIGUSR1, stop_here);
    handle(SIGUSR2, nothing);
  }
  ~Stopper() { let_go(); }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;

  void stop(std::thread& t) {
    const int before = stopped_threads.load();
    ASSERT_EQ(0, pthread_kill(t.native_handle(), SIGUSR1));
    handles_.push_back(t.native_handle());
    while (stopped_threads.load() == before)
      sched_yield();
  }
  // As often as it takes: one signal may come before the thread waits for it.
  void let_go() {
    may_go_on = true;
    while (stopped_threads.load() != 0) {
      for (const pthread_t t : handles_)
        pthread_kill(t, SIGUSR2);
      usleep(200);
    }
    handles_.clear();
  }

 private:
  static void handle(int number, void (*handler)(int)) {
    struct sigaction a {};
    a.sa_handler = handler;
    a.sa_flags = SA_RESTART;
    sigfillset(&a.sa_mask);
    ASSERT_EQ(0, sigaction(number, &a, nullptr));
  }
  std::vector<pthread_t> handles_;
};

enum class Protocol { none, robust, inheriting, protecting };

void make_mutex(pthread_mutex_t* m, Protocol protocol) {
  pthread_mutexattr_t a;
  ASSERT_RC(0, pthread_mutexattr_init(&a));
  if (protocol == Protocol::robust) {
    ASSERT_RC(0, pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
  } else if (protocol == Protocol::inheriting) {
    ASSERT_RC(0, pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
  } else if (protocol == Protocol::protecting) {
    ASSERT_RC(0, pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    ASSERT_RC(0, pthread_mutexattr_setprioceiling(&a, 20));
  }
  ASSERT_RC(0, pthread_mutex_init(m, &a));
  ASSERT_RC(0, pthread_mutexattr_destroy(&a));
}

// Waiters that begin to wait one after the other, and say when they are back.
struct Crowd {
  Crowd(int n, Protocol protocol) {
    make_mutex(&m, protocol);
    for (int i = 0; i < n; ++i) {
      threads.emplace_back([this, i] { wait(i); });
      await(in_wait, i + 1);
    }
    usleep(2000);  // so that they sleep, as a rule
  }
  ~Crowd() {
    for (std::thread& t : threads)
      t.join();
    EXPECT_RC(0, pthread_cond_destroy(&c));
    EXPECT_RC(0, pthread_mutex_destroy(&m));
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  void wait(int i) {
    pthread_mutex_lock(&m);
    ++in_wait;
    while (!(go || turns > 0))
      pthread_cond_wait(&c, &m);
    if (!go) --turns;
    order[static_cast<std::size_t>(back++)] = i;
    pthread_mutex_unlock(&m);
  }
  void lock() { pthread_mutex_lock(&m); }
  void unlock() { pthread_mutex_unlock(&m); }
  // A value that changes under the mutex. If it never does, the case hangs, and this thread must
  // use little enough of a processor for the driver to see that.
  void await(const int& value, int at_least) {
    for (bool there = false; !there; usleep(2000)) {
      lock();
      there = value >= at_least;
      unlock();
    }
  }

  pthread_mutex_t m;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  bool go = false;
  int turns = 0, in_wait = 0, back = 0;
  std::array<int, 32> order{};
  std::vector<std::thread> threads;
};

// What condition variables promise on a machine with nothing else to do.
constexpr std::int64_t kSoon = 10;  // ms

// One round: `stopped` are stopped in their waits, and all others must come back meanwhile. If one
// of them depends on a stopped one, it sleeps on. Returns how long they took, in ms.
std::int64_t broadcast_with(int n, const std::vector<int>& stopped, Protocol protocol) {
  Crowd crowd(n, protocol);
  Stopper stopper;
  for (const int i : stopped)
    stopper.stop(crowd.threads[static_cast<std::size_t>(i)]);
  crowd.lock();
  crowd.go = true;
  crowd.unlock();
  const std::int64_t begin = milliseconds();
  EXPECT_RC(0, pthread_cond_broadcast(&crowd.c));
  crowd.await(crowd.back, n - static_cast<int>(stopped.size()));
  return milliseconds() - begin;
}

// Expects rounds to be as quick as promised. On a busy machine waking takes its time also where
// nobody is stopped, so a late round is compared with an undisturbed one, and then tried again.
template <class Round>
void expect_soon(int n, Protocol protocol, const Round& round) {
  std::int64_t took = round(), allowed = kSoon;
  for (int i = 0; i < 50 && took > allowed; ++i) {
    allowed = std::max(kSoon, 3 * broadcast_with(n, {}, protocol));
    took = round();
  }
  EXPECT_LE(took, allowed) << "ms, with " << n << " waiters";
}

}  // namespace

TEST(CondRelease, BroadcastBesideStoppedWaiters) {
  for (const Protocol protocol : {Protocol::none, Protocol::robust, Protocol::inheriting}) {
    for (int round = 0; round < scaled(3); ++round) {
      for (const std::vector<int>& stopped :
           {std::vector<int>{0}, {1}, {7}, {0, 1}, {0, 7}, {3, 4, 5}, {0, 1, 2, 3, 4, 5, 6}}) {
        expect_soon(8, protocol, [&] { return broadcast_with(8, stopped, protocol); });
      }
      for (const int n : {2, 3})
        expect_soon(n, protocol, [&] { return broadcast_with(n, {0}, protocol); });
    }
  }
}

// The first one was woken, and then stopped before it had the mutex. (A hand-off of
// the mutex to a stopped thread is another matter; a robust one, which is glibc's, makes none.)
TEST(CondRelease, StoppedOnTheWayToTheMutex) {
  for (int round = 0; round < scaled(3); ++round) {
    for (const std::size_t stopped : {0, 7, 4}) {
      expect_soon(8, Protocol::robust, [&] {
        Crowd crowd(8, Protocol::robust);
        Stopper stopper;
        crowd.lock();
        crowd.go = true;
        EXPECT_RC(0, pthread_cond_broadcast(&crowd.c));
        usleep(1000);
        stopper.stop(crowd.threads[stopped]);
        const std::int64_t begin = milliseconds();
        crowd.unlock();
        crowd.await(crowd.back, 7);
        return milliseconds() - begin;
      });
    }
  }
}

// A signal is not swallowed by a thread that is stopped.
TEST(CondRelease, SignalBesideStoppedWaiters) {
  for (const std::vector<int>& stopped : {std::vector<int>{0}, {0, 1}, {0, 2}}) {
    Crowd crowd(4, Protocol::none);
    Stopper stopper;
    for (const int i : stopped)
      stopper.stop(crowd.threads[static_cast<std::size_t>(i)]);
    crowd.lock();
    crowd.turns = 1;
    crowd.unlock();
    EXPECT_RC(0, pthread_cond_signal(&crowd.c));
    crowd.await(crowd.back, 1);  // unless the signal is lost on a stopped thread
    stopper.let_go();
    crowd.lock();
    crowd.go = true;
    crowd.unlock();
    EXPECT_RC(0, pthread_cond_broadcast(&crowd.c));
  }
}

// --- priorities

namespace {

// Binds the calling thread to a processor, too. Returns false if it may not have such a policy.
bool become_real_time(int priority, int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (pthread_setaffinity_np(pthread_self(), sizeof one, &one) != 0) return false;
  sched_param p{};
  p.sched_priority = priority;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}
bool real_time_is_allowed() {
  bool allowed = false;
  std::thread([&] { allowed = become_real_time(1, sched_getcpu()); }).join();
  return allowed;
}
constexpr const char* kNotAllowed = "this user may not have real-time policies (RLIMIT_RTPRIO)";

// Keeps the calling thread off that processor. Returns false if there is no other.
bool leave(int cpu) {
  cpu_set_t others;
  if (sched_getaffinity(0, sizeof others, &others) != 0) return false;
  CPU_CLR(cpu, &others);
  return CPU_COUNT(&others) != 0 && sched_setaffinity(0, sizeof others, &others) == 0;
}

}  // namespace

namespace {

constexpr std::int64_t kBusy = 400;  // ms

// For a thread that a lower one on its processor may be in the way of: it lets that one go on.
void lock_politely(pthread_mutex_t* m) {
  while (pthread_mutex_trylock(m) != 0)
    usleep(500);
}

// One processor: low waiters come first, then a high one; a middle thread is busy until the high
// one is back. How long that took, in ms.
std::int64_t high_behind_low(Protocol protocol, bool signals) {
  const int cpu = sched_getcpu();
  pthread_mutex_t m;
  make_mutex(&m, protocol);
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  bool go = false;
  std::atomic<int> waiting{0};
  std::array<std::atomic<std::int64_t>, 3> back{};
  std::atomic<std::int64_t> busy_until{0};
  const auto waiter = [&](int i, int priority) {
    ASSERT_TRUE(become_real_time(priority, cpu));
    pthread_mutex_lock(&m);
    ++waiting;
    while (!go)
      pthread_cond_wait(&c, &m);
    back[static_cast<std::size_t>(i)] = milliseconds();
    pthread_mutex_unlock(&m);
  };
  std::int64_t begin = 0;
  // Above them all, so that it can begin what they do.
  std::thread director([&] {
    ASSERT_TRUE(become_real_time(10, cpu));
    std::vector<std::thread> threads;
    const int priorities[] = {2, 3, 8};
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back(waiter, i, priorities[i]);
      while (waiting.load() <= i)
        usleep(500);
      lock_politely(&m);  // it has released the mutex
      pthread_mutex_unlock(&m);
      usleep(1000);
    }
    std::thread middle([&] {
      ASSERT_TRUE(become_real_time(5, cpu));
      busy_until = milliseconds() + kBusy;
      while (back[2].load() == 0 && milliseconds() < busy_until.load()) {}
    });
    while (busy_until.load() == 0)
      usleep(500);
    lock_politely(&m);
    go = true;
    pthread_mutex_unlock(&m);
    begin = milliseconds();
    signals ? pthread_cond_signal(&c) : pthread_cond_broadcast(&c);
    while (back[2].load() == 0 && milliseconds() < begin + 20 * kBusy)
      usleep(500);
    pthread_cond_broadcast(&c);
    middle.join();
    for (std::thread& t : threads)
      t.join();
  });
  director.join();
  EXPECT_RC(0, pthread_cond_destroy(&c));
  EXPECT_RC(0, pthread_mutex_destroy(&m));
  return back[2].load() - begin;
}

}  // namespace

TEST(CondRelease, HighPriorityBehindLowAndABusyMiddleOne) {
  if (!real_time_is_allowed()) GTEST_SKIP() << kNotAllowed;
  for (const Protocol protocol : {Protocol::none, Protocol::inheriting, Protocol::protecting}) {
    for (const bool signals : {false, true}) {
      // The best of some rounds: what another program does to this machine is not judged.
      std::int64_t best = kBusy;
      for (int i = 0; i < 20 && best > kSoon && !testing::Test::HasFailure(); ++i)
        best = std::min(best, high_behind_low(protocol, signals));
      EXPECT_LE(best, kSoon) << "the high one waited for the busy middle one";
    }
  }
}

// A signal is for the waiter of the highest priority; within one, for the one that came first.
void signals_go_by_priority() {
  const int cpu = sched_getcpu();
  if (!leave(cpu) && spinning()) GTEST_SKIP() << "they would spin beside this thread";
  constexpr int kPriorities[] = {0, 5, 0, 9, 5, 9};
  constexpr int kOrder[] = {3, 5, 1, 4, 0, 2};
  Mutex m;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  int turns = 0, waiting = 0;
  std::vector<int> order;
  std::vector<std::thread> threads;
  std::atomic<int> tid{0};  // of the last one
  const auto await = [&](const auto& is_so) {
    for (bool so = false; !so; usleep(200)) {
      pthread_mutex_lock(m);
      so = is_so();
      pthread_mutex_unlock(m);
    }
  };
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      if (kPriorities[i] != 0) {
        ASSERT_TRUE(become_real_time(kPriorities[i], cpu));
      }
      tid = gettid();
      pthread_mutex_lock(m);
      ++waiting;
      while (turns == 0)
        pthread_cond_wait(&c, m);
      --turns;
      order.push_back(i);
      pthread_mutex_unlock(m);
    });
    await([&] { return waiting == i + 1; });
    while (!is_asleep(tid))  // a signal that finds it awake goes to another one, too
      usleep(200);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    pthread_mutex_lock(m);
    ++turns;
    EXPECT_RC(0, pthread_cond_signal(&c));
    pthread_mutex_unlock(m);
    await([&] { return order.size() == i + 1; });
  }
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(std::vector<int>(std::begin(kOrder), std::end(kOrder)), order);
}
TEST(CondRelease, SignalsGoByPriority) {
  if (!real_time_is_allowed()) GTEST_SKIP() << kNotAllowed;
  std::thread(signals_go_by_priority).join();
}

// --- the end of a mutex

// A mutex with which threads wait may not be destroyed. glibc does not count those of robust ones.
TEST(CondRelease, DestroyingTheMutexOfWaiters) {
  const auto check = [](pthread_mutex_t* m, int busy) {
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    int waiting = 0;
    bool go = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        pthread_mutex_lock(m);
        ++waiting;
        const timespec soon = after(CLOCK_REALTIME, 5 * kMillisecond);
        if (i == 0) pthread_cond_timedwait(&c, m, &soon);
        while (!go)
          pthread_cond_wait(&c, m);
        pthread_mutex_unlock(m);
      });
    }
    for (bool there = false; !there; sched_yield()) {
      pthread_mutex_lock(m);
      there = waiting == 3;
      pthread_mutex_unlock(m);
    }
    if (busy != 0) {
      EXPECT_RC(busy, pthread_mutex_destroy(m));
    }
    pthread_mutex_lock(m);
    go = true;
    EXPECT_RC(0, pthread_cond_broadcast(&c));
    pthread_mutex_unlock(m);
    for (std::thread& t : threads)
      t.join();
    EXPECT_RC(0, pthread_mutex_destroy(m));
    EXPECT_RC(0, pthread_cond_destroy(&c));
  };
  for (const MutexKind& k : kMutexKinds) {
    SCOPED_TRACE(k.name);
    Mutex m(k.type);
    check(m, EBUSY);
  }
  pthread_mutex_t m;
  for (const Protocol p : {Protocol::robust, Protocol::inheriting}) {
    make_mutex(&m, p);
    check(&m, p == Protocol::robust ? 0 : EBUSY);
  }
}

// A failed wait leaves nothing behind.
TEST(CondRelease, DestroyingTheMutexAfterARefusedWait) {
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  for (const int type : {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    Mutex m(type);
    EXPECT_RC(EPERM, pthread_cond_wait(&c, m));
    EXPECT_RC(0, pthread_mutex_destroy(m));
  }
}

// In a child nobody waits.
TEST(CondRelease, DestroyingTheMutexInAChild) {
  if (glibc_mutexes()) GTEST_SKIP() << "glibc: a child counts its parent's waiters";
  Crowd crowd(3, Protocol::none);
  EXPECT_RC(EBUSY, pthread_mutex_destroy(&crowd.m));
  const int status = in_child([&] { return pthread_mutex_destroy(&crowd.m); });
  EXPECT_EQ(0, status);
  EXPECT_RC(EBUSY, pthread_mutex_destroy(&crowd.m));
  crowd.lock();
  crowd.go = true;
  crowd.unlock();
  EXPECT_RC(0, pthread_cond_broadcast(&crowd.c));
}

// --- a handler that comes upon a wait and forks

namespace {

struct Forked {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  int waiting = 0;
  bool go = false;
  bool new_waits_too = false;
  std::atomic<pid_t> child{0};  // of the handler, in the parent
};
Forked* forked = nullptr;
thread_local bool in_forked_child = false;

// What a thread of the child does: the one that forked waits still.
void* wake_in_child(void*) {
  Forked& f = *forked;
  if (f.new_waits_too) {
    pthread_mutex_lock(&f.m);
    const timespec soon = after(CLOCK_REALTIME, 2 * kMillisecond);
    if (pthread_cond_timedwait(&f.c, &f.m, &soon) != ETIMEDOUT) _exit(3);
    pthread_mutex_unlock(&f.m);
  }
  // With the mutex: the broadcast repairs the list of the parent and ends the wait so, and were the
  // mutex free the thread could be in its next wait before the broadcast looks.
  pthread_mutex_lock(&f.m);
  f.go = true;
  pthread_cond_broadcast(&f.c);
  pthread_mutex_unlock(&f.m);
  return nullptr;
}
void fork_here(int) {
  const pid_t pid = fork();
  if (pid != 0) {
    forked->child = pid;
    return;
  }
  in_forked_child = true;
  pthread_t t;
  if (pthread_create(&t, nullptr, wake_in_child, nullptr) != 0) _exit(2);
}

}  // namespace

TEST(CondRelease, AHandlerForksInAWait) {
  for (const bool timed : {false, true}) {
    for (const bool new_waits_too : {false, true}) {
      for (const std::size_t which : {0, 1, 2}) {
        Forked f;
        forked = &f;
        f.new_waits_too = new_waits_too;
        struct sigaction a {};
        a.sa_handler = fork_here;
        a.sa_flags = SA_RESTART;
        EXPECT_EQ(0, sigaction(SIGUSR1, &a, nullptr));
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
          threads.emplace_back([&] {
            pthread_mutex_lock(&f.m);
            ++f.waiting;
            const timespec late = after(CLOCK_REALTIME, 600'000 * kMillisecond);
            while (!f.go)
              timed ? pthread_cond_timedwait(&f.c, &f.m, &late) : pthread_cond_wait(&f.c, &f.m);
            if (in_forked_child) {
              // The list is sound: the thread waits once more, alone.
              const timespec soon = after(CLOCK_REALTIME, kMillisecond);
              _exit(pthread_cond_timedwait(&f.c, &f.m, &soon) == ETIMEDOUT ? 0 : 4);
            }
            pthread_mutex_unlock(&f.m);
          });
          for (bool there = false; !there; usleep(200)) {
            pthread_mutex_lock(&f.m);
            there = f.waiting == i + 1;
            pthread_mutex_unlock(&f.m);
          }
        }
        usleep(2000);
        EXPECT_EQ(0, pthread_kill(threads[which].native_handle(), SIGUSR1));
        while (f.child.load() == 0)
          usleep(200);
        int status = -1;
        EXPECT_EQ(f.child.load(), waitpid(f.child, &status, 0));
        EXPECT_EQ(0, status) << "waiter " << which << (timed ? ", timed" : "")
                             << (new_waits_too ? ", beside a new one" : "");
        // The parent's are as they were.
        pthread_mutex_lock(&f.m);
        f.go = true;
        pthread_mutex_unlock(&f.m);
        pthread_cond_broadcast(&f.c);
        for (std::thread& t : threads)
          t.join();
        EXPECT_RC(0, pthread_cond_destroy(&f.c));
        EXPECT_RC(0, pthread_mutex_destroy(&f.m));
        forked = nullptr;
      }
    }
  }
}

}  // namespace conformance::cond_release
