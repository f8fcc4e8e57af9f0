// BRAVO on the modelled machine against a closed form of its paper: after a revocation the bias is
// inhibited for N times as long as that took (D. Dice, A. Kogan, "BRAVO", USENIX ATC 2019, section
// 3), and a revocation that meets no reader takes a scan of the table. So if one thread writes now
// and then, its readers are slow for N + 1 scans after each write, and fast the rest of the time.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "locks/rw/ba.h"
#include "predict/rw_locks.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

constexpr int kReaders = 16;
constexpr double kOutside = 100;
// What prepare_readers_table has: 4,096 slots of 8 bytes, and the paper's N.
constexpr double kTableLines = 512, kGuard = 9;

// Transfers are cheap, so that readers notice soon that the bias may be switched on again.
cost::Costs costs() {
  cost::Costs c = even_machine(kReaders + 1, 10);
  c.jitter = c.noise = 0;
  return c;
}

// Reads a nanosecond. With a period, one thread more writes, and works for so long in between.
double reads(const std::string& name, double period) {
  NamedLocks all;
  add_rwlock<Ba, UNDER_BRAVO>("ba", all);
  const NamedLock& lock =
      *std::ranges::find_if(all, [&](const auto& l) { return l.name == name && !l.parks; });
  const int writers = period > 0 ? 1 : 0;
  const Workload w{.outside = kOutside,
                   .varies = true,
                   .lines = 0,
                   .writers = writers,
                   .outside_of_writers = period};
  const Outcome o = run(costs(), lock, w, kReaders + writers, 3e6);
  return static_cast<double>(o.reads) / o.ns;
}

TEST(RevocationForm, ReadersAreSlowForAsManyScansAsTheGuardSays) {
  const double fast = reads("bravo-ba", 0), slow = reads("ba", 0);
  ASSERT_GT(fast, 2 * slow);
  const double scan = kTableLines * costs().stream;
  // A thread reads the clock at every 64th slow read: once to note when the bias was revoked, and
  // once to find that it may be switched on. The next such read is half of that away.
  const double turn = Modelled::reads_per_clock() / slow / 2;
  // Written twice as often, the bias wouldn't always pay, and would be inhibited for longer.
  for (const double period : {120e3, 150e3, 200e3}) {
    const double off = kGuard * scan + 2 * turn;  // nobody reads in the scan itself
    const double said = (fast * (period - scan - off) + slow * off) / period;
    EXPECT_NEAR(reads("bravo-ba", period - scan) / said, 1, 0.15) << "a write every " << period;
  }
}

}  // namespace
}  // namespace lockswap::predict
