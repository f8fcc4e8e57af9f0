#include "platform/arena.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "asleep.h"
#include "each_step.h"

namespace lockswap::arena_test {
namespace {

struct TestNode {
  NativeAtomic<std::uint32_t> link;
  std::atomic<int> owner;
};
using Nodes = Arena<TestNode>;

class ArenaTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { Nodes::prepare(); }
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

// Each of these has nodes of its own.
template <int>
struct OtherNode {
  NativeAtomic<std::uint32_t> link;
  std::uint32_t mark;
};

// A handler takes a node, or gives one back, wherever its thread is. No node may be had twice, and
// none may be lost.
class ArenaStepsTest : public ArenaTest {
 protected:
  using Others = Arena<OtherNode<3>>;
  using Does = void (*)(std::uint32_t& node);

  static void take(std::uint32_t& node) { node = Others::take(); }
  static void give(std::uint32_t& node) { Others::give(std::exchange(node, 0)); }

  static void expect_no_clash(Does thread, Does handler) {
    if (!kCanStep) GTEST_SKIP() << "skipped: single steps are made on x86-64 alone";
    ASSERT_TRUE(Others::prepare());
    std::uint32_t threads = 0, handlers = 0;
    std::uint64_t at_first = 0;
    const auto prepare = [&] {
      threads = thread == &give ? Others::take() : 0;
      handlers = handler == &give ? Others::take() : 0;
    };
    const auto check = [&](int step) {
      // As many as a thread keeps to itself, and one that it doesn't.
      std::vector<std::uint32_t> all(5);
      for (std::uint32_t& h : all)
        h = Others::take();
      for (const std::uint32_t h : {threads, handlers}) {
        if (h != 0) all.push_back(h);
      }
      EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size()) << "step " << step;
      for (const std::uint32_t h : std::set(all.begin(), all.end()))
        Others::give(h);
      if (step == 0) at_first = Others::given_out();
      EXPECT_LE(Others::given_out(), at_first + 2) << "nodes are lost, up to step " << step;
    };
    const int steps = EachStep::run(
        prepare, [&] { thread(threads); }, [&] { handler(handlers); }, check);
    EXPECT_GT(steps, 10);
  }
};
TEST_F(ArenaStepsTest, AHandlerTakesWhileItsThreadTakes) { expect_no_clash(&take, &take); }
TEST_F(ArenaStepsTest, AHandlerGivesWhileItsThreadTakes) { expect_no_clash(&take, &give); }
TEST_F(ArenaStepsTest, AHandlerTakesWhileItsThreadGives) { expect_no_clash(&give, &take); }
TEST_F(ArenaStepsTest, AHandlerGivesWhileItsThreadGives) { expect_no_clash(&give, &give); }

TEST_F(ArenaTest, ChunksGoElsewhereWhereSomethingLies) {
  using Others = Arena<OtherNode<1>>;
  ASSERT_TRUE(Others::prepare());
  std::vector<void*> in_the_way;
  std::vector<std::uint32_t> handles;
  while (handles.size() < 300'000) {
    // The place of the next chunk, each time.
    void* const there = map_pages(4096, ChunkPlace::get());
    ASSERT_NE(there, nullptr);
    in_the_way.push_back(there);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint32_t h = Others::take();
      ASSERT_NE(h, 0u);
      ASSERT_EQ(Others::at(h).mark, 0u);
      Others::at(h).mark = static_cast<std::uint32_t>(handles.size());
      handles.push_back(h);
    }
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    ASSERT_EQ(Others::at(handles[i]).mark, i);
    ASSERT_EQ(Others::handle_of(Others::at(handles[i])), handles[i]);
    ASSERT_TRUE(Others::is_node(reinterpret_cast<std::uintptr_t>(&Others::at(handles[i]))));
    ASSERT_FALSE(Others::is_node(reinterpret_cast<std::uintptr_t>(&Others::at(handles[i])) + 4));
  }
  EXPECT_EQ(Others::given_out(), handles.size());
  std::uint64_t seen = 0;
  Others::each([&seen](OtherNode<1>&) { ++seen; });
  EXPECT_EQ(seen, handles.size());
  for (void* p : in_the_way)
    unmap_pages(p, 4096);
}

void set_data_limit(rlim_t bytes) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &limit), 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
}

// A try that fails must use nothing up, since waiting threads try again and again, and there are
// only so many handles. They sleep between the tries.
TEST_F(ArenaTest, AShortageOfMemoryUsesNoHandlesUp) {
  using Others = Arena<OtherNode<2>>;
  ASSERT_TRUE(Others::prepare());
  constexpr std::uint64_t kWanted = 100'000;
  std::vector<std::uint32_t> handles(kWanted);
  std::atomic<bool> go{false}, has_all{false};
  Sleeper taker([&] {
    while (!go) {}
    for (auto& h : handles)
      h = Others::take();
    has_all = true;
  });
  const auto until_tried = [&](unsigned long times) {
    for (const auto end = taker.sleeps() + times; taker.sleeps() < end && !has_all;)
      usleep(1000);
  };
  set_data_limit(4096);
  go = true;
  std::uint64_t before = 0, now = Others::given_out();
  do {  // until it waits
    before = now;
    until_tried(5);
    now = Others::given_out();
  } while (before != now);
  EXPECT_LT(now, kWanted);
  until_tried(100);
  EXPECT_EQ(Others::given_out(), now);
  set_data_limit(RLIM_INFINITY);
  taker.join();
  EXPECT_EQ(Others::given_out(), kWanted);
  EXPECT_EQ(std::set<std::uint32_t>(handles.begin(), handles.end()).size(), kWanted);
}

}  // namespace
}  // namespace lockswap::arena_test
