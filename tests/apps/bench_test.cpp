// What the benchmarks compute from what they measured, on data with known answers.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <unistd.h>
#include <vector>

#include "common/guarded.h"
#include "common/live.h"
#include "common/random.h"
#include "common/report.h"
#include "common/tail.h"
#include "common/used.h"
#include "floor/instructions.h"
#include "peers/cache.h"
#include "peers/queue.h"

namespace {

using namespace bench;

// --- live stretches

// A thread that does `per_step` operations in each 100 ticks, and none in the steps `slow`, which
// take 10,000 ticks.
Stamps thread_of(int steps, std::uint64_t begin, std::uint64_t per_step,
                 const std::vector<int>& slow = {}) {
  Stamps stamps{{begin, 0}};
  for (int i = 0; i < steps; ++i) {
    const bool gap = std::find(slow.begin(), slow.end(), i) != slow.end();
    stamps.push_back(
        {stamps.back().at + (gap ? 10'000 : 100), stamps.back().done + (gap ? 0 : per_step)});
  }
  return stamps;
}

Live live_of(const Stamps& a, const Stamps& b) { return live_windows({&a, &b}); }

TEST(Live, WithoutGapsAllIsKept) {
  const Live l = live_of(thread_of(1000, 500, 10), thread_of(1000, 500, 10));
  EXPECT_DOUBLE_EQ(l.kept, 1);
  EXPECT_DOUBLE_EQ(l.ticks_per_operation, 10);
}

TEST(Live, OneThreadsGapIsCutOutOfAll) {
  // The other goes on, twice as fast as usual, while the first stands still.
  Stamps other = thread_of(101, 0, 10);
  for (int i = 0; i < 100; ++i)
    other.push_back({other.back().at + 100, other.back().done + 20});
  other.push_back({other.back().at + 99'900, other.back().done + 9'990});
  const Stamps stopped = thread_of(1100, 0, 10, {101});
  ASSERT_EQ(stopped[101].at, other[101].at);
  ASSERT_EQ(stopped[102].at, other[201].at);
  const Live l = live_windows({&stopped, &other}, 2000);  // one step of `other` is long, but no gap
  EXPECT_DOUBLE_EQ(l.kept, 1);
  const Live cut = live_windows({&stopped, &other});
  EXPECT_NEAR(cut.kept, 101.0 * 100 / static_cast<double>(other.back().at), 1e-3);
  EXPECT_DOUBLE_EQ(cut.ticks_per_operation, 10);
}

TEST(Live, OverlappingGapsAreCutOnce) {
  // Gaps from 20,000 to 30,000 and from 25,000 to 35,000; all in all 60,000 ticks.
  const Stamps a = thread_of(501, 0, 10, {200});
  const Stamps b = thread_of(501, 0, 10, {250});
  ASSERT_EQ(a.back().at, 60'000u);
  const Live l = live_of(a, b);
  EXPECT_DOUBLE_EQ(l.kept, 45'000.0 / 60'000);
  EXPECT_DOUBLE_EQ(l.ticks_per_operation, 10);
}

TEST(Live, OnlyTheCommonTimeCounts) {
  // One thread is twice as fast and there twice as long: the first and last 50,000 ticks are its
  // own.
  const Live l = live_of(thread_of(2000, 0, 20), thread_of(1000, 50'000, 10));
  EXPECT_DOUBLE_EQ(l.kept, 1);
  EXPECT_NEAR(l.ticks_per_operation, 200.0 / 30, 1e-9);
}

TEST(Live, StampsNeedNotCoincide) {
  const Live l = live_of(thread_of(1000, 0, 10, {300}), thread_of(1100, 37, 10));
  EXPECT_NEAR(l.ticks_per_operation, 10, 1e-9);
  EXPECT_NEAR(l.kept, 1 - 10'000.0 / (109'900 - 37), 1e-9);
}

TEST(Live, NothingToCompare) {
  const Stamps good = thread_of(10, 0, 10);
  EXPECT_EQ(live_windows({}).kept, 0);
  EXPECT_EQ(live_of(good, {}).kept, 0);
  EXPECT_EQ(live_of(good, {{5, 1}}).kept, 0);
  EXPECT_EQ(live_of(good, thread_of(10, 2'000, 10)).kept, 0);  // never at the same time
  EXPECT_EQ(live_of(thread_of(10, 0, 0), thread_of(10, 0, 0)).ticks_per_operation, 0);
}

// --- tails

// Quantiles may be too long by 1/64, never too short.
void expect_close(std::uint64_t got, std::uint64_t exact) {
  EXPECT_GE(got, exact);
  EXPECT_LE(got, exact + exact / 64);
}

TEST(Tail, QuantilesOfAnEvenSpread) {
  Tail t;
  for (std::uint64_t v = 100'000; v >= 1; --v)
    t.add(v);
  EXPECT_EQ(t.count(), 100'000u);
  expect_close(t.at_per_mille(500), 50'000);
  expect_close(t.at_per_mille(990), 99'000);
  expect_close(t.at_per_mille(999), 99'900);
  EXPECT_EQ(t.at_per_mille(1000), 100'000u);
  EXPECT_EQ(t.longest(), 100'000u);
}

TEST(Tail, ShortValuesAreExact) {
  Tail t;
  for (std::uint64_t v = 0; v < 100; ++v)
    t.add(v);
  EXPECT_EQ(t.at_per_mille(500), 49u);
  EXPECT_EQ(t.at_per_mille(990), 98u);
  EXPECT_EQ(t.at_per_mille(1000), 99u);
}

TEST(Tail, OneLongValueIsNotLost) {
  Tail t;
  for (int i = 0; i < 1'000'000; ++i)
    t.add(20);
  t.add(123'456'789);
  EXPECT_EQ(t.at_per_mille(999), 20u);
  EXPECT_EQ(t.longest(), 123'456'789u);
}

TEST(Tail, EveryValueHasItsBucket) {
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t v : {power, power - 1, power + power / 3}) {
      Tail t;
      t.add(v);
      t.add(~std::uint64_t{0});
      expect_close(t.at_per_mille(500), v);
      EXPECT_EQ(t.at_per_mille(1000), ~std::uint64_t{0});
    }
  }
}

TEST(Tail, MergedIsAsIfMeasuredTogether) {
  Tail all;
  Tail parts[3];
  Random random(1);
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t v = random.below(1 << 20);
    all.add(v);
    parts[i % 3].add(v);
  }
  Tail merged;
  for (const Tail& part : parts)
    merged.merge(part);
  EXPECT_EQ(merged.count(), all.count());
  EXPECT_EQ(merged.longest(), all.longest());
  for (const unsigned q : {1u, 500u, 990u, 999u, 1000u})
    EXPECT_EQ(merged.at_per_mille(q), all.at_per_mille(q));
}

TEST(Tail, NothingMeasured) {
  EXPECT_EQ(Tail().count(), 0u);
  EXPECT_EQ(Tail().at_per_mille(999), 0u);
}

// --- the rest

TEST(Random, SharesAndRanges) {
  Random random(7);
  constexpr int kTries = 1'000'000;
  int hits = 0;
  std::vector<int> seen(10);
  for (int i = 0; i < kTries; ++i) {
    hits += random.with_share(share_of_32_bits(0.01)) ? 1 : 0;
    ++seen[random.below(10)];
    EXPECT_FALSE(random.with_share(share_of_32_bits(0)));
    EXPECT_TRUE(random.with_share(share_of_32_bits(1)));
  }
  EXPECT_NEAR(hits, 10'000, 500);  // the seed is fixed: 5 standard deviations need no luck
  for (const int n : seen)
    EXPECT_NEAR(n, 100'000, 1'500);
}

TEST(Random, SeedsThatFollowEachOtherDiffer) {
  Random a(0);
  Random b(1);
  int same = 0;
  for (int i = 0; i < 1000; ++i)
    same += a.below(64) == b.below(64) ? 1 : 0;
  EXPECT_LT(same, 50);
}

TEST(Fairness, LeastByMost) {
  EXPECT_DOUBLE_EQ(fairness_of({50, 100, 75}), 0.5);
  EXPECT_DOUBLE_EQ(fairness_of({0, 100}), 0);
  EXPECT_DOUBLE_EQ(fairness_of({0, 0}), 1);
  EXPECT_DOUBLE_EQ(fairness_of({}), 1);
}

using GuardedDeathTest = testing::Test;

TEST(GuardedDeathTest, ALockThatFailsIsFound) {
  Guarded whole;
  whole.check();
  whole.begin_write();
  EXPECT_EXIT(whole.check(), testing::ExitedWithCode(1), "together with a writer");
  whole.end_write();
  whole.check();
  whole.check_writes(1);
  EXPECT_EXIT(whole.check_writes(2), testing::ExitedWithCode(1), "writes got lost: 2 .* 1");
  unlock((lock_write(whole.lock), whole.lock));
  EXPECT_EXIT((lock_write(whole.lock), lock_write(whole.lock)), testing::ExitedWithCode(1),
              "wrong result: pthread_rwlock_wrlock returned");
}

// --- what the peers' locks protect

TEST(LruCache, AMissReplacesTheLeastRecentlyUsedKey) {
  peers::LruCache cache(3);  // 0, 1, 2; the last is the most recently used
  EXPECT_TRUE(cache.touch(0));
  EXPECT_FALSE(cache.touch(7));
  EXPECT_FALSE(cache.touch(1));
  EXPECT_FALSE(cache.touch(2));
  EXPECT_TRUE(cache.touch(7));
  EXPECT_TRUE(cache.touch(1));
  EXPECT_FALSE(cache.touch(0));
  EXPECT_TRUE(cache.is_sound());
}

// For one thread, which never has to wait.
struct NoLock {
  using Seat = NoSeat;
  void lock(Seat&) {}
  void unlock(Seat&) {}
  struct Condition {
    void wait(NoLock&, Seat&) { ADD_FAILURE() << "would sleep for ever"; }
    void signal() {}
    void broadcast() {}
  };
};

TEST(Ring, ItemsComeOutInOrderAndAStopEndsAWait) {
  peers::Ring<NoLock> ring(2);
  NoSeat seat(ring.lock);
  std::atomic<bool> stop{false};
  std::uint64_t item = 0;
  for (std::uint64_t first : {1, 5, 9}) {
    EXPECT_TRUE(ring.push(seat, first, stop) && ring.push(seat, first + 1, stop));
    EXPECT_EQ(ring.sum(), 2 * first + 1);
    EXPECT_TRUE(ring.pop(seat, item, stop));
    EXPECT_EQ(item, first);
    EXPECT_TRUE(ring.pop(seat, item, stop));
    EXPECT_EQ(item, first + 1);
  }
  stop = true;
  EXPECT_FALSE(ring.pop(seat, item, stop));
  EXPECT_TRUE(ring.push(seat, 1, stop) && ring.push(seat, 2, stop));
  EXPECT_FALSE(ring.push(seat, 3, stop));
  EXPECT_EQ(ring.sum(), 3U);
}

TEST(Spent, SharesAddUpToAllOfTheTime) {
  const bench::Shares half = bench::Spent{.seconds = 2, .user = 1, .system = 1}.shares(2);
  EXPECT_DOUBLE_EQ(half.user, 0.25);
  EXPECT_DOUBLE_EQ(half.system, 0.25);
  EXPECT_DOUBLE_EQ(half.idle, 0.5);
}

TEST(Spent, WhatIsChargedBeyondTheClockIsAllOfTheTime) {
  const bench::Shares all = bench::Spent{.seconds = 1, .user = 1.5, .system = 0.6}.shares(2);
  EXPECT_LE(all.user, 1);
  EXPECT_DOUBLE_EQ(all.user + all.system, 1);
  EXPECT_EQ(all.idle, 0);
}

TEST(Used, TheClockEnclosesWhatIsCharged) {
  const bench::Used used;
  for (const double end = bench::seconds_of(CLOCK_MONOTONIC) + 0.02;
       bench::seconds_of(CLOCK_MONOTONIC) < end;) {}
  const bench::Spent spent = used.until_now();
  EXPECT_GE(spent.seconds, 0.02);
  EXPECT_GT(spent.cpu(), 0);
}

// --- instructions

template <int kNops>
[[gnu::noinline]] void nops(long n) {
  for (; n > 0; --n)
    asm volatile(".rept %c0\n nop\n .endr" : : "i"(kNops));
}

TEST(Instructions, EachIsCountedOnce) {
  int prepared = 0;
  const auto prepare = [&] { ++prepared; };
  const std::optional<double> few = instructions_of_pair(nops<10>, prepare);
  if (!few) GTEST_SKIP() << "the kernel doesn't let a process trace its child";
  EXPECT_DOUBLE_EQ(*few + 30, instructions_of_pair(nops<40>, prepare).value());
  EXPECT_EQ(prepared, 0);  // only in the child
}

void trap(long) { __builtin_trap(); }

TEST(Instructions, AChildThatDiesHasNone) {
  EXPECT_FALSE(instructions_of_pair(nops<1>, [] { _exit(EPERM); }));
  EXPECT_EQ(errno, EPERM);
  EXPECT_FALSE(instructions_of_pair(trap, [] {}));
}

}  // namespace
