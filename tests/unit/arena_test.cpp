#include "platform/arena.h"

#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

namespace lockswap {
namespace {

struct TestNode {
  NativeAtomic<std::uint32_t> link;
  std::atomic<int> owner;
};
using Nodes = Arena<TestNode>;

class ArenaTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ThreadExit::prepare();
    Nodes::prepare();
  }
};

TEST_F(ArenaTest, NodesAreDistinctAndHaveHandlesThatAreNotZero) {
  std::set<std::uint32_t> handles;
  for (int i = 0; i < 10'000; ++i)
    handles.insert(Nodes::take());
  EXPECT_EQ(handles.size(), 10'000u);
  EXPECT_EQ(handles.count(0), 0u);
  for (std::uint32_t h : handles)
    Nodes::give(h);
}

TEST_F(ArenaTest, AThreadGetsItsLastNodeBack) {
  const std::uint32_t h = Nodes::take();
  Nodes::give(h);
  EXPECT_EQ(Nodes::take(), h);
  Nodes::give(h);
}

TEST_F(ArenaTest, NobodySharesANode) {
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000; ++i) {
        std::uint32_t mine[6];  // more than a thread keeps to itself
        for (std::uint32_t& h : mine) {
          h = Nodes::take();
          if (Nodes::at(h).owner.exchange(t) != 0) ++clashes;
        }
        for (const std::uint32_t h : mine) {
          Nodes::at(h).owner = 0;
          Nodes::give(h);
        }
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(clashes, 0);
}

TEST_F(ArenaTest, ThreadsThatEndGiveTheirNodeBack) {
  // Each thread keeps nodes in its cache. If they did not come back, the numbers would grow.
  std::uint32_t highest = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::thread([&] {
      const std::uint32_t h = Nodes::take();
      highest = std::max(highest, h);
      Nodes::give(h);
    }).join();
  }
  const std::uint32_t before = highest;
  for (int i = 0; i < 2'000; ++i) {
    std::thread([&] {
      const std::uint32_t h = Nodes::take();
      highest = std::max(highest, h);
      Nodes::give(h);
    }).join();
  }
  EXPECT_EQ(highest, before);
}

}  // namespace
}  // namespace lockswap
