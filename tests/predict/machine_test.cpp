// The modelled machine, by what an access must cost and who gets a line.
#include <gtest/gtest.h>

#include "multicore/cost/modelled_atomic.h"
#include "multicore/cost/platform.h"

namespace lockswap::cost {
namespace {

// Two nodes of two cores, so that a transfer in a node takes 40 ns and one between nodes 100.
Costs small_machine() {
  Costs c;
  c.place = {{0, 0}, {1, 0}, {2, 1}, {3, 1}};
  c.transfer.resize(16);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to)
      c.transfer[static_cast<std::size_t>(from * 4 + to)] = from == to           ? 0
                                                            : from / 2 == to / 2 ? 40
                                                                                 : 100;
  }
  c.hit = 1;
  c.update = 5;
  c.step = 2;
  c.memory = 80;
  c.jitter = 0;
  c.noise = 0;
  return c;
}

struct alignas(64) Word {
  ModelledAtomic<std::uint64_t> v{};
};

// What the threads do, one after another: each begins when the one before it is done.
struct InTurn {
  explicit InTurn(double each) : each_(each) {}
  void begin(int i) const { machine.spend(1000 + i * each_ - machine.now()); }

 private:
  double each_;
};

TEST(Machine, AnAccessCostsWhatTheLineIsAway) {
  static Word word;
  double took[6] = {};
  const InTurn turn(10'000);
  const auto timed = [&took](int n, const auto& f) {
    const double before = machine.now();
    f();
    took[n] = machine.now() - before;
  };
  machine.run(
      small_machine(), 4, 1e6, [] {},
      [&](int i) {
        turn.begin(i);
        if (i == 0) {
          timed(0, [] { word.v.store(1, relaxed); });      // from memory
          timed(1, [] { word.v.fetch_add(1, relaxed); });  // here
        } else if (i == 1) {
          timed(2, [] { word.v.load(relaxed); });  // from the core beside it
          timed(3, [] { word.v.load(relaxed); });  // a copy is here
        } else if (i == 2) {
          timed(4, [] { word.v.fetch_add(1, relaxed); });  // from the other node
        } else {
          timed(5, [] { word.v.store(1, relaxed); });
        }
      });
  const double kStep = 2, kHit = 1, kUpdate = 5;
  EXPECT_DOUBLE_EQ(took[0], kStep + 80);
  EXPECT_DOUBLE_EQ(took[1], kStep + kHit + kUpdate);
  EXPECT_DOUBLE_EQ(took[2], kStep + 40);
  EXPECT_DOUBLE_EQ(took[3], kStep + kHit);
  EXPECT_DOUBLE_EQ(took[4], kStep + 100 + kUpdate);
  EXPECT_DOUBLE_EQ(took[5], kStep + 40);
}

TEST(Machine, AWriterWaitsForTheFarthestCopy) {
  static Word word;
  double took = 0;
  const InTurn turn(10'000);
  machine.run(
      small_machine(), 4, 1e6, [] {},
      [&](int i) {
        turn.begin(i == 0 ? 3 : i - 1);
        if (i != 0) {
          word.v.load(relaxed);
          return;
        }
        const double before = machine.now();
        word.v.store(1, relaxed);
        took = machine.now() - before;
      });
  EXPECT_DOUBLE_EQ(took, 2 + 100);
}

// Updates of one word by all threads are served one after another, and none is lost.
TEST(Machine, ALineServesOneAfterAnother) {
  static Word word;
  constexpr std::uint64_t kEach = 1000;
  double end = 0;
  Costs costs = small_machine();
  costs.reach = 0;  // no thread has the line twice
  for (const Arbitration a : {Arbitration::first_come, Arbitration::nearest, Arbitration::random}) {
    costs.arbitration = a;
    machine.run(
        costs, 4, 1e9, [] { word.v.store(0, relaxed); },
        [&](int) {
          for (std::uint64_t n = 0; n < kEach; ++n)
            word.v.fetch_add(1, relaxed);
          end = machine.now();
        });
    EXPECT_EQ(word.v.peek(), 4 * kEach);
    std::uint64_t transfers = 0;
    for (int i = 0; i < 4; ++i)
      transfers += machine.counts(i).transfers[0] + machine.counts(i).transfers[1];
    EXPECT_GE(end, static_cast<double>(transfers) * (40 + 5));
    EXPECT_LE(end, 4.0 * kEach * (100 + 5 + 2 + 1) + 1000);
  }
}

// Two threads whose compare-exchange fails repeat it while they have the line, so they don't keep
// each other from succeeding.
TEST(Machine, TheOwnerHasTheLineUntilTheRequestHasReachedIt) {
  static Word word;
  const auto transfers_with = [](double reach) {
    Costs costs = small_machine();
    costs.reach = reach;
    machine.run(
        costs, 4, 1e9, [] { word.v.store(0, relaxed); },
        [](int) {
          for (int n = 0; n < 1000; ++n) {
            std::uint64_t seen = word.v.load(relaxed);
            while (!word.v.compare_exchange(seen, seen + 1, relaxed)) {}
          }
        });
    EXPECT_EQ(word.v.peek(), 4000u);
    std::uint64_t n = 0;
    for (int i = 0; i < 4; ++i)
      n += machine.counts(i).transfers[0] + machine.counts(i).transfers[1];
    return n;
  };
  EXPECT_LT(transfers_with(0.5), transfers_with(0) / 2);
}

// BRAVO's paper (section 3) has it for its table, which another core has written.
TEST(Machine, AScanTakesAboutANanosecondForEachSlot) {
  constexpr std::size_t kSlots = 4096;
  alignas(64) static ModelledAtomic<std::uint64_t> table[kSlots];
  double took = 0;
  machine.run(
      small_machine(), 2, 1e9,
      [] {
        for (auto& slot : table)
          slot.store(0, relaxed);
      },
      [&took](int i) {
        if (i == 0) return;
        const double before = machine.now();
        EXPECT_TRUE(Modelled::scan(table, kSlots, 2, [](std::size_t) { return true; }));
        took = machine.now() - before;
      });
  EXPECT_NEAR(took / kSlots, 1.1, 0.2);
}

TEST(Machine, AThreadThatPollsCostsNothingUntilTheLineChanges) {
  static Word word;
  double seen_at = 0;
  machine.run(
      small_machine(), 2, 1e6, [] { word.v.store(0, relaxed); },
      [&](int i) {
        if (i == 1) {
          machine.spend(50'000);
          word.v.store(7, relaxed);
          return;
        }
        EXPECT_TRUE(
            Modelled::await(Pause::spin, word.v, acquire, [](std::uint64_t v) { return v == 7; }));
        seen_at = machine.now();
        EXPECT_EQ(machine.counts(0).transfers[0], 1u);
      });
  EXPECT_GT(seen_at, 50'000);
  EXPECT_LT(seen_at, 50'500);
}

TEST(Machine, ASleeperIsWokenOnItsChannelOrByItsDeadline) {
  static Word word;
  Parked how[3] = {};
  double woken_at = 0;
  machine.run(
      small_machine(), 4, 1e6, [] { word.v.store(0, relaxed); },
      [&](int i) {
        if (i == 3) {
          machine.spend(20'000);
          EXPECT_EQ(Modelled::unpark(&word.v, 2), 1u);
          EXPECT_EQ(Modelled::unpark(&word.v, 2), 0u);
          return;
        }
        const Deadline soon = Modelled::deadline_in(100'000);
        // The third finds another value than it has seen.
        how[i] = Modelled::park(word.v, i == 2 ? 1 : 0, i == 0 ? 1 : 2, &soon);
        if (i == 1) woken_at = machine.now();
      });
  EXPECT_EQ(how[0], Parked::timed_out);
  EXPECT_EQ(how[1], Parked::woken);
  EXPECT_EQ(how[2], Parked::changed);
  EXPECT_GT(woken_at, 20'000 + small_machine().wake);
  EXPECT_LT(woken_at, 20'000 + small_machine().wake + 1000);
}

TEST(Machine, ARunIsRepeatedByItsSeed) {
  static Word word;
  const auto end_of = [](std::uint64_t seed) {
    double end = 0;
    Costs costs = small_machine();
    costs.jitter = 0.2;
    costs.arbitration = Arbitration::random;
    costs.seed = seed;
    machine.run(
        costs, 4, 1e9, [] { word.v.store(0, relaxed); },
        [&end](int) {
          for (int n = 0; n < 200; ++n) {
            word.v.fetch_add(1, relaxed);
            machine.work(30);
          }
          end = machine.now();
        });
    return end;
  };
  EXPECT_EQ(end_of(1), end_of(1));
  EXPECT_NE(end_of(1), end_of(2));
}

TEST(Machine, StateIsNewInEachRun) {
  const auto first = [] {
    std::uint64_t was = 0;
    machine.run(
        small_machine(), 1, 1e3, [] {}, [&was](int) { was = ++Modelled::global<std::uint64_t>(); });
    return was;
  };
  EXPECT_EQ(first(), 1u);
  EXPECT_EQ(first(), 1u);
}

}  // namespace
}  // namespace lockswap::cost
