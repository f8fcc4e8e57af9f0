// Range locks with the array of arrbench on the modelled machine: who goes on beside whom.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "predict/operated.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

Outcome outcome(const std::string& name, Ranges ranges, double writes, int threads) {
  static const AllOperated all = all_range_locks();
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.name == name; });
  const Workload w{.write_share = writes, .outside = 200, .varies = true, .ranges = ranges};
  return run(even_machine(threads), *found->make(), w, threads, 1e6);
}
std::uint64_t done(const Outcome& o) { return o.reads + o.writes; }

// Each aborts if a thread was let in beside a writer of the same slot.
TEST(Ranges, EveryLockExcludesWriters) {
  for (const NamedOperated& one : all_range_locks()) {
    for (const Ranges ranges : {Ranges::full, Ranges::disjoint, Ranges::random}) {
      const Outcome o = outcome(one.name, ranges, 0.5, 4);
      EXPECT_GT(o.reads, 3u) << one.name;
      EXPECT_GT(o.writes, 3u) << one.name;
    }
  }
}

TEST(Ranges, ReadersOfTheSameRangeGoOnTogetherWhereTheyCan) {
  EXPECT_GT(done(outcome("list-rw", Ranges::full, 0, 4)),
            2 * done(outcome("list-ex", Ranges::full, 0, 4)));
}

TEST(Ranges, WritersOfDisjointRangesGoOnTogether) {
  const auto apart = done(outcome("list-ex", Ranges::disjoint, 1, 4));
  EXPECT_GT(apart, 2 * done(outcome("list-ex", Ranges::full, 1, 4)));
}

}  // namespace
}  // namespace lockswap::predict
