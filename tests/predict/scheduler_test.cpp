// More threads than processors on the modelled machine: who runs, for how long, and what that does
// to locks.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "even_machine.h"
#include "multicore/cost/modelled_atomic.h"
#include "multicore/cost/platform.h"

namespace lockswap::cost {
namespace {

// With slices that are short, and as long as they should be.
Costs machine_with(int processors) {
  Costs c = predict::even_machine(processors);
  c.jitter = c.noise = 0;
  c.slice = 100'000;
  c.switching = 1000;
  c.wake = 4000;
  return c;
}

struct alignas(64) Word {
  ModelledAtomic<std::uint64_t> v{};
};

TEST(Scheduler, ThreadsThatWorkShareTheProcessors) {
  std::vector<double> done(6);
  const Costs costs = machine_with(2);
  machine.run(
      costs, 6, 30e6, [] {},
      [&done](int i) {
        while (machine.goes_on()) {
          machine.work(7'000);
          done[static_cast<std::size_t>(i)] += 7'000;
        }
      });
  double sum = 0;
  for (const double ns : done) {
    EXPECT_NEAR(ns, 10e6, 0.2e6);
    sum += ns;
  }
  // A switch takes a hundredth of a slice.
  EXPECT_NEAR(sum, 2 * 30e6 * 100 / 101, 0.3e6);
}

TEST(Scheduler, WorkIsInterruptedWhereTheSliceEnds) {
  double first_done = 0, second_done = 0;
  machine.run(
      machine_with(1), 2, 1e9, [] {},
      [&](int i) {
        machine.work(i == 0 ? 250'000 : 50'000);
        (i == 0 ? first_done : second_done) = machine.now();
      });
  // One of them begins, but the short one is never behind all of the long one.
  EXPECT_LT(second_done, 160'000);
  EXPECT_NEAR(first_done, 300'000, 5'000);
}

TEST(Scheduler, AThreadThatSleepsLeavesItsProcessor) {
  static Word word;
  double worked_until = 0, woken = 0;
  machine.run(
      machine_with(1), 2, 1e9, [] { word.v.store(0, relaxed); },
      [&](int i) {
        if (i == 0) {
          Modelled::park(word.v, 0, 1, nullptr);
          woken = machine.now();
          return;
        }
        machine.work(30'000);
        word.v.store(1, relaxed);
        Modelled::unpark(&word.v, 1);
        worked_until = machine.now();
      });
  EXPECT_LT(worked_until, 40'000);  // though the other had its slice first, or comes second
  EXPECT_GE(woken, worked_until);
}

// As an unfair lock needs it: who has released it takes it again while the other one wakes up.
TEST(Scheduler, AWokenThreadWaitsForTheEndOfASliceUnlessItPreempts) {
  static Word word, other;
  const auto waits_for = [](double preempts) {
    double woken_at = 0, runs_at = 0;
    Costs costs = machine_with(1);
    costs.preempts = preempts;
    machine.run(
        costs, 2, 1e9, [] { word.v.store(0, relaxed); },
        [&](int i) {
          if (i == 0) {
            Modelled::park(word.v, 0, 1, nullptr);
            runs_at = machine.now();
            return;
          }
          Modelled::park_for(other.v, 0, 20'000);  // the other one sleeps meanwhile
          word.v.store(1, relaxed);
          Modelled::unpark(&word.v, 1);
          woken_at = machine.now();
          for (int n = 0; n < 1000; ++n)
            machine.work(200);
        });
    return runs_at - woken_at;
  };
  EXPECT_GT(waits_for(0), 50'000);
  EXPECT_LT(waits_for(1), 10'000);
}

// Its owner has no processor, so all others poll until their slices are over.
TEST(Scheduler, PollersKeepTheProcessorsFromTheOneThatTheyWaitFor) {
  static Word word;
  const auto took = [](int threads) {
    double end = 0;
    machine.run(
        machine_with(2), threads, 1e9, [] { word.v.store(0, relaxed); },
        [&](int i) {
          // In turn, round and round.
          const auto all = static_cast<std::uint64_t>(threads);
          for (auto turn = static_cast<std::uint64_t>(i); turn < 10 * all; turn += all) {
            Modelled::await(Pause::spin, word.v, acquire,
                            [turn](std::uint64_t v) { return v == turn; });
            word.v.store(turn + 1, release);
          }
          end = std::max(end, machine.now());
        });
    EXPECT_EQ(word.v.peek(), 10u * static_cast<unsigned>(threads));
    return end / (10 * threads);
  };
  EXPECT_LT(took(2), 200);
  EXPECT_GT(took(3), 10'000);
}

// The same, if those that wait give their processors away.
TEST(Scheduler, ThreadsThatYieldLetTheOthersRun) {
  static Word word;
  double end = 0;
  machine.run(
      machine_with(2), 6, 1e9, [] { word.v.store(0, relaxed); },
      [&](int i) {
        for (std::uint64_t turn = static_cast<std::uint64_t>(i); turn < 60; turn += 6) {
          Modelled::await(Pause::yield, word.v, acquire,
                          [turn](std::uint64_t v) { return v == turn; });
          word.v.store(turn + 1, release);
        }
        end = std::max(end, machine.now());
      });
  EXPECT_EQ(word.v.peek(), 60u);
  EXPECT_LT(end / 60, 10'000);
}

// What a thread finds that sleeps with a deadline of 10 us, beside one that works and may wake it.
struct Slept {
  Parked how;
  double until;
  std::uint32_t woken;  // how many the other one woke
};
Slept sleep_beside(int processors, double work_ns, bool wakes) {
  static Word word;
  Slept found{};
  machine.run(
      machine_with(processors), 2, 1e9, [] { word.v.store(0, relaxed); },
      [&](int i) {
        if (i == 0) {
          const Deadline soon = Modelled::deadline_in(10'000);
          found.how = Modelled::park(word.v, 0, 1, &soon);
          found.until = machine.now();
          return;
        }
        machine.work(work_ns);
        if (wakes) found.woken = Modelled::unpark(&word.v, 1);
      });
  return found;
}

TEST(Scheduler, ASleeperWhoseTimeIsOverWaitsForAProcessor) {
  const Slept found = sleep_beside(1, 60'000, false);
  EXPECT_EQ(found.how, Parked::timed_out);
  EXPECT_GT(found.until, 60'000);
}

// A wake-up is no other thread's then: the caller counts on it.
TEST(Scheduler, AWakeUpReachesASleeperWhoseTimeIsOverButThatDoesNotRunYet) {
  const Slept found = sleep_beside(1, 60'000, true);
  EXPECT_EQ(found.woken, 1u);
  EXPECT_EQ(found.how, Parked::woken);
}

// Nor is it lost if the deadline passes while the sleeper is still on its way.
TEST(Scheduler, AWakeUpJustBeforeTheDeadlineIsReported) {
  const Slept found = sleep_beside(2, 9'000, true);
  EXPECT_EQ(found.woken, 1u);
  EXPECT_EQ(found.how, Parked::woken);
  EXPECT_GT(found.until, 13'000);  // it takes 4,000 to wake up
}

TEST(Scheduler, NobodyTakesTurnsWithoutNeed) {
  double end = 0;
  Costs costs = machine_with(4);
  costs.slice = 10;
  machine.run(
      costs, 4, 1e9, [] {},
      [&end](int) {
        machine.work(50'000);
        end = std::max(end, machine.now());
      });
  EXPECT_LT(end, 50'200);
}

}  // namespace
}  // namespace lockswap::cost
