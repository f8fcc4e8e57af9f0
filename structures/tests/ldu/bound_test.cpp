// How much pends at most, where nobody reads and where a reader stays for long; and what is
// counted.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "lockswap/ldu.hpp"
#include "lockswap/ldu_stamped.hpp"
#include "unit/asleep.h"

namespace {

constexpr std::uint32_t kLimit = 10;

std::atomic<std::size_t> living{0};
std::atomic<std::size_t> most{0};

struct Object {
  Object() {
    const std::size_t now = ++living;
    for (std::size_t m = most; now > m && !most.compare_exchange_weak(m, now);) {}
  }
  ~Object() { --living; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  lockswap::ldu_hook hook;
};
struct Nothing {
  using object = Object;
  static lockswap::ldu_hook& hook(Object& o) { return o.hook; }
  void insert(Object&) { ++done; }
  void remove(Object&) { ++done; }
  void free(Object& o) { delete &o; }
  std::atomic<std::size_t> done{0};
};
using Set = lockswap::ldu<Nothing>;
using Stamped = lockswap::ldu_stamped<Nothing, std::shared_mutex, lockswap::ldu_machine, kLimit>;

enum class Log : std::uint8_t { of_threads, own };

template <Log kLog>
void come_and_go(Set& set, Set::thread& me) {
  auto* o = new Object;
  if constexpr (kLog == Log::own) {
    set.insert(*o);
    set.retire(*o);
  } else {
    set.insert(me, *o);
    set.retire(me, *o);
  }
}

template <class S, class Update>
void nobody_reads(S& set, typename S::logs& logs, std::size_t threads, std::size_t bound,
                  Update update) {
  living = most = 0;
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      typename S::thread me(logs);
      for (int i = 0; i < 20'000; ++i)
        update(me);
    });
  }
  for (auto& t : all)
    t.join();
  EXPECT_GE(most, kLimit / 2);
  EXPECT_LE(most, bound);
  set.apply();
  EXPECT_EQ(living, 0U);
}
template <Log kLog>
void nobody_reads(std::size_t threads, std::size_t bound) {
  Set::logs logs;
  Set set(logs);
  set.set_limit(kLimit);
  nobody_reads(set, logs, threads, bound, [&](auto& me) { come_and_go<kLog>(set, me); });
}

TEST(LduBound, OfThreadsLogs) {
  nobody_reads<Log::of_threads>(1, kLimit);  // the lock is always free
  nobody_reads<Log::of_threads>(4, 4 * 2 * kLimit);
}
TEST(LduBound, OfAStructuresOwnLog) {
  nobody_reads<Log::own>(1, kLimit);
  nobody_reads<Log::own>(4, 2 * kLimit + 4);
}
TEST(LduBound, OfStampedRings) {
  for (const std::size_t threads : {1, 4}) {
    Stamped::logs logs;
    Stamped set(logs);
    // An object is in two records at least, but for the one that is being inserted.
    nobody_reads(set, logs, threads, threads * (kLimit / 2 + 1), [&](auto& me) {
      auto* o = new Object;
      set.insert(me, *o);
      set.retire(me, *o);
    });
  }
}

// Whether all of them sleep at the same time: none has woken up between two looks at each.
bool all_sleep(const std::deque<lockswap::Sleeper>& threads) {
  std::array<unsigned long, 2> sleeps{};
  for (unsigned long& sum : sleeps) {
    for (const lockswap::Sleeper& t : threads) {
      if (!t.is_asleep()) return false;
      sum += t.sleeps();
    }
  }
  return sleeps[0] == sleeps[1];
}

// Threads update until they wait for a reader that stays; how many pend then.
template <class S, class Update, class Pending>
std::size_t beside_a_reader_that_stays(S& set, typename S::logs& logs, std::size_t threads,
                                       Update update, Pending pending) {
  std::atomic<bool> stop{false};
  std::deque<lockswap::Sleeper> all;
  std::size_t found = 0;
  set.read([&](const Nothing&) {
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&] {
        typename S::thread me(logs);
        while (!stop)
          update(me);
      });
    }
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      found = pending();
      if (found > 1000 * threads) break;  // no bound
    } while (!all_sleep(all));
    found = pending();
    stop = true;
  });
  for (auto& t : all)
    t.join();
  return found;
}

TEST(LduBound, OfThreadsLogsBesideAReaderThatStays) {
  Set::logs logs;
  Set set(logs);
  set.set_limit(kLimit);
  living = most = 0;
  const std::size_t found = beside_a_reader_that_stays(
      set, logs, 4, [&](auto& me) { come_and_go<Log::of_threads>(set, me); },
      [] { return living.load(); });
  EXPECT_EQ(found, 4 * 2 * kLimit);
  set.apply();
  EXPECT_EQ(living, 0U);
}
TEST(LduBound, OfAStructuresOwnLogBesideAReaderThatStays) {
  Set::logs logs;
  Set set(logs);
  set.set_limit(kLimit);
  living = most = 0;
  const std::size_t found = beside_a_reader_that_stays(
      set, logs, 4, [&](auto& me) { come_and_go<Log::own>(set, me); },
      [] { return living.load(); });
  EXPECT_EQ(found, 2 * kLimit + 3);  // each of the others adds one, and waits
  set.apply();
  EXPECT_EQ(living, 0U);
}
TEST(LduBound, OfStampedRingsBesideAReaderThatStays) {
  Stamped::logs logs;
  Stamped set(logs);
  Object o;
  std::atomic<std::size_t> finished{0};
  const std::size_t found = beside_a_reader_that_stays(
      set, logs, 4,
      [&](auto& me) {
        set.insert(me, o);  // the structure asks nothing of the order
        ++finished;
      },
      [&] { return finished.load(); });
  EXPECT_EQ(found, 4 * kLimit);
  set.exclusive([&](Nothing& all) { EXPECT_EQ(all.done, finished); });
}

TEST(LduCounts, AreTheSameForEachLog) {
  Set::logs logs;
  Set set(logs);
  Set::thread me(logs);
  Object a, b;
  for (int i = 0; i < 100; ++i) {
    set.insert(a);
    set.remove(a);
    set.insert(me, b);
    set.remove(me, b);
  }
  set.insert(a);
  auto counts = set.counts();
  EXPECT_EQ(counts.updates, 401U);
  EXPECT_EQ(counts.absorbed, 200U);
  EXPECT_EQ(counts.logged, 2U);
  set.remove(a);
  set.free(*new Object);  // an object that nothing was done with
  counts = set.counts();
  EXPECT_EQ(counts.updates, 402U);
  EXPECT_EQ(counts.absorbed, 200U);
  EXPECT_EQ(counts.logged, 4U);
}

// Structures whose objects are never retired need no free().
struct Keeps {
  struct object {
    lockswap::ldu_hook hook;
  };
  static lockswap::ldu_hook& hook(object& o) { return o.hook; }
  void insert(object&) {
    ++there;
    ++changes;
  }
  void remove(object&) { --there; }
  int there = 0;
  static inline int changes = 0;
};
TEST(LduCounts, AreThereWithTimeStamps) {
  Stamped::logs logs;
  Stamped set(logs);
  Stamped::thread me(logs);
  Object a, b;
  for (int i = 0; i < 100; ++i) {
    set.insert(a);  // at once, with the lock
    set.remove(a);
    set.insert(me, b);
    set.remove(me, b);
  }
  set.free(me, *new Object);
  const auto counts = set.counts();
  EXPECT_EQ(counts.updates, 400U);
  EXPECT_EQ(counts.absorbed, 0U);
  EXPECT_EQ(counts.logged, 201U);
  EXPECT_EQ(me.counts().updates, 201U);
  EXPECT_EQ(me.counts().logged, 201U);
}

TEST(LduStamped, ARingIsAppliedAtItsLimit) {
  using Wide = lockswap::ldu_stamped<Keeps>;
  lockswap::ldu_logs logs;
  lockswap::ldu_logs::thread me(logs);
  for (const std::uint32_t limit : {1U, 5U, Wide::default_limit, 1'000'000U}) {
    Wide set(logs);
    set.set_limit(limit);
    const int at_most = static_cast<int>(std::min(limit, Wide::default_limit));
    std::vector<Keeps::object> objects(200);
    Keeps::changes = 0;
    for (int i = 0; i < 200; ++i) {
      set.insert(me, objects[static_cast<std::size_t>(i)]);
      EXPECT_EQ(Keeps::changes, i / at_most * at_most) << limit;
    }
  }
}

template <class S>
concept retires = requires(S& set, typename S::thread& me, Keeps::object& o) {
  set.retire(me, o);
};
static_assert(!retires<lockswap::ldu<Keeps>> && !retires<lockswap::ldu_stamped<Keeps>>);

TEST(Ldu, NeedsNoFree) {
  lockswap::ldu_logs logs;
  lockswap::ldu<Keeps> set(logs);
  lockswap::ldu_stamped<Keeps> stamped(logs);
  lockswap::ldu_logs::thread me(logs);
  Keeps::object a, b;
  set.insert(me, a);
  stamped.insert(me, b);
  EXPECT_EQ(set.read([](const Keeps& k) { return k.there; }), 1);
  EXPECT_EQ(stamped.read([](const Keeps& k) { return k.there; }), 1);
}

}  // namespace
