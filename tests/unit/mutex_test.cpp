// The queue nodes that threads which gave up leave behind.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "locks/mutex/clh.h"
#include "locks/mutex/mcs.h"
#include "platform/arena.h"
#include "platform/native.h"
#include "wait/park.h"

namespace lockswap::mutex_test {
namespace {

Deadline soon() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_nsec += 2000;
  if (t.tv_nsec >= 1'000'000'000) {
    t.tv_nsec -= 1'000'000'000;
    ++t.tv_sec;
  }
  return {CLOCK_MONOTONIC, t};
}

// Threads that come back again and again while another holds the lock.
template <class Lock, class Node>
std::uint64_t after_many_time_outs() {
  EXPECT_TRUE(Lock::prepare());
  constexpr int kThreads = 4, kTimeOuts = 500;
  Lock lock;
  lock.lock();
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTimeOuts; ++i) {
        const Deadline deadline = soon();
        got += lock.lock_until(&deadline) ? 1 : 0;
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(0, got);
  const std::uint64_t nodes = Arena<Node>::given_out();
  lock.unlock();
  EXPECT_TRUE(lock.idle());
  return nodes;
}

TEST(MutexNodes, ThoseOfTimeOutsAreUsedAgain) {
  using Wait = Park<Native>;
  EXPECT_LT((after_many_time_outs<Mcs<Native, Wait>, McsNode<Native>>()), 200u);
  EXPECT_LT((after_many_time_outs<Clh<Native, Wait>, ClhNode<Native>>()), 200u);
}

// Every wait ends by its deadline: the first thread's when the second has come, the second's when
// the test says so.
struct Scripted {
  static constexpr bool kParks = false;
  static inline std::atomic<int> came{0}, may_go{0};

  template <class A, class Pred>
  static bool until(A&, Order, typename A::value_type, std::uint32_t, const Deadline*, Pred) {
    std::atomic<int>& awaited = came.fetch_add(1) == 0 ? came : may_go;
    const int value = &awaited == &came ? 2 : 1;
    while (awaited != value)
      std::this_thread::yield();
    return false;
  }
  template <class A>
  static void wake(const A*, std::uint32_t) {}
};

// The last of the queue gives up behind one that has: the lock ends with their nodes.
TEST(MutexNodes, ThoseOfALockThatEndsAreGivenBack) {
  using Lock = Clh<Native, Scripted>;
  ASSERT_TRUE(Lock::prepare());
  const std::uint64_t before = Arena<ClhNode<Native>>::given_out();
  for (int i = 0; i < 200; ++i) {
    Lock lock;
    lock.lock();
    Scripted::came = Scripted::may_go = 0;
    const Deadline deadline = soon();
    std::thread first([&] { EXPECT_FALSE(lock.lock_until(&deadline)); });
    while (Scripted::came != 1)
      std::this_thread::yield();
    std::thread second([&] { EXPECT_FALSE(lock.lock_until(&deadline)); });
    first.join();
    Scripted::may_go = 1;
    second.join();
    lock.unlock();
    ASSERT_TRUE(lock.idle());
    lock.destroy();
  }
  EXPECT_LT(Arena<ClhNode<Native>>::given_out(), before + 100);
}

// A thread of a lower priority gets to run: yields alone never let it.
TEST(Await, NapsSleep) {  // after a moment of pauses, and some yields
  const NativeAtomic<std::uint32_t> atom{0};
  int looks = 0;
  rusage before, now;
  getrusage(RUSAGE_THREAD, &before);
  Native::await(Pause::nap, atom, relaxed, [&looks](std::uint32_t) { return ++looks > 90; });
  getrusage(RUSAGE_THREAD, &now);
  EXPECT_GE(now.ru_nvcsw - before.ru_nvcsw, 3);
}

}  // namespace
}  // namespace lockswap::mutex_test
