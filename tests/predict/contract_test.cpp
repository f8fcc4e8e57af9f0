// The stages of a contracted lock, as the model calls them, on the modelled machine: one lock whose
// writers and readers have fast stages, by itself and under BRAVO. counts_test.cpp has all locks.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "locks/rw/ba.h"
#include "predict/rw_locks.h"
#include "predict/workload.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

class Contracted : public testing::TestWithParam<const char*> {
 public:
  static NamedLock lock(const std::string& name) {
    NamedLocks all;
    add_rwlock<Ba, UNDER_BRAVO>("ba", all);
    return *std::ranges::find_if(all, [&](const auto& l) { return l.name == name && !l.parks; });
  }
  static Outcome run(const NamedLock& l, double writes, int threads) {
    const Workload w{.write_share = writes, .inside = 50, .outside = 400, .varies = true};
    return predict::run(even_machine(threads), l, w, threads, 1e6);
  }
};

TEST_P(Contracted, OneThreadMovesNoLine) {
  for (const double writes : {0.0, 0.5, 1.0}) {
    const Outcome o = run(lock(GetParam()), writes, 1);
    EXPECT_GT(o.reads + o.writes, 1000u) << writes;
    EXPECT_EQ(o.counts.transfers[0] + o.counts.transfers[1] + o.counts.transfers[2], 0u) << writes;
  }
}

TEST_P(Contracted, ThreadsTakeTurnsThroughItsSlowStages) {
  const Outcome o = run(lock(GetParam()), 0.5, 4);
  EXPECT_GT(o.reads, 100u);
  EXPECT_GT(o.writes, 100u);
  EXPECT_GT(o.least, 50u);
  EXPECT_GT(o.counts.transfers[0], o.writes);  // each writer takes the word from somebody else
}

INSTANTIATE_TEST_SUITE_P(Locks, Contracted, testing::Values("ba", "bravo-ba"), [](const auto& one) {
  std::string name = one.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace lockswap::predict
