// Reverse maps on the modelled machine: reads find what processes have mapped, and deferred updates
// move fewer lines than a lock does.
#include <gtest/gtest.h>

#include "../../predict/reverse_maps.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

std::unique_ptr<Operated> made(const std::string& name) {
  AllOperated all;
  add_reverse_maps(all);
  for (const NamedOperated& one : all) {
    if (one.name == name) return one.make();
  }
  return nullptr;
}

// A read of a chain that misses a mapping, or finds one too many, ends the program (processes.h).
Outcome outcome(const std::string& name, const std::string& mix, int threads, double writes = 0.9,
                double ns = 2e5) {
  const Workload w{.write_share = writes, .program = mix};
  const std::unique_ptr<Operated> maps = made(name);
  return run(even_machine(threads), *maps, w, threads, ns);
}

TEST(ReverseMaps, EachMixRunsOnEachPairOfIndexes) {
  AllOperated all;
  add_reverse_maps(all);
  for (const NamedOperated& one : all) {
    for (const char* mix : {"aim7", "exim", "lmbench-sh"}) {
      const Outcome o = outcome(one.name, mix, 3, 0.9, 1e6);
      EXPECT_GT(o.writes, 0u) << one.name << ' ' << mix;
    }
  }
}

TEST(ReverseMaps, ReadsAreAShareOfTheUpdates) {
  const Outcome many = outcome("pldu", "aim7", 2, 0.5), few = outcome("pldu", "aim7", 2, 0.99);
  EXPECT_GT(many.reads, many.writes);  // a step has many updates
  EXPECT_LT(few.reads, few.writes);
  EXPECT_GT(few.reads, 0u);
}

// The point of the paper, with threads enough for the lock to be what they wait for.
TEST(ReverseMaps, DeferredUpdatesAreFasterThanALockIsWithManyThreads) {
  const auto steps = [](const std::string& name) {
    return outcome(name, "lmbench", 12, 0.999).writes;
  };
  EXPECT_GT(steps("pldu"), 2 * steps("rwlock"));
}

TEST(ReverseMaps, ARunIsRepeated) {
  for (const char* name : {"rwlock", "pldu", "harris"}) {
    const Outcome one = outcome(name, "aim7", 3), other = outcome(name, "aim7", 3);
    EXPECT_EQ(one.writes, other.writes) << name;
    EXPECT_EQ(one.counts.transfers, other.counts.transfers) << name;
  }
}

}  // namespace
}  // namespace lockswap::predict
