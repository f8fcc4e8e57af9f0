// Parts of the range locks by themselves: the interval tree against a plain list, and the segments
// of a range.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <thread>
#include <vector>

#include "platform/libc_watch.h"
#include "platform/native.h"
#include "range/interval_tree.h"
#include "range/list.h"
#include "range/segments.h"
#include "range/sharded.h"
#include "range/stages.h"
#include "wait/park.h"

namespace {

using namespace lockswap;

struct Node : IntervalTreeLinks<Node> {
  bool in = false;
};

// Black heights, colours, order and ends, from the links alone. The height, or -1.
int check(const Node* n, const Node* parent) {
  if (n == nullptr) return 0;
  if (n->parent != parent) return -1;
  if (n->red && parent != nullptr && parent->red) return -1;
  std::uint64_t last = n->end;
  for (const Node* c : n->child) {
    if (c != nullptr) last = std::max(last, c->last_end);
  }
  if (last != n->last_end) return -1;
  const Node* before = n->child[0];
  const Node* after = n->child[1];
  if ((before != nullptr && before->start > n->start) ||
      (after != nullptr && after->start < n->start)) {
    return -1;
  }
  const int height = check(before, n);
  if (height < 0 || check(after, n) != height) return -1;
  return height + (n->red ? 0 : 1);
}

const Node* root_of(const std::vector<Node>& nodes) {
  for (const Node& n : nodes) {
    if (n.in && n.parent == nullptr) return &n;
  }
  return nullptr;
}

TEST(IntervalTree, IsAsAListOfIntervals) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    const std::size_t most = 1 + below(200);
    const std::uint64_t longest = 1 + below(60);
    std::vector<Node> nodes(most);
    IntervalTree<Node> tree;
    std::size_t count = 0;
    for (int step = 0; step < 3000; ++step) {
      Node& n = nodes[below(most)];
      if (n.in) {
        tree.erase(n);
        --count;
      } else {
        n.start = below(500);
        n.end = n.start + 1 + below(longest);
        tree.insert(n);
        ++count;
      }
      n.in = !n.in;
      ASSERT_EQ(tree.empty(), count == 0);
      const Node* root = root_of(nodes);
      ASSERT_EQ(root == nullptr, count == 0);
      if (root != nullptr) {
        ASSERT_FALSE(root->red);
        ASSERT_GE(check(root, nullptr), 1) << "seed " << seed << ", step " << step;
      }
      const std::uint64_t start = below(520);
      const std::uint64_t end = start + 1 + below(longest);
      std::vector<const Node*> found;
      tree.for_each_overlap(start, end, [&](const Node& other) { found.push_back(&other); });
      ASSERT_TRUE(std::is_sorted(found.begin(), found.end(),
                                 [](const Node* a, const Node* b) { return a->start < b->start; }));
      std::sort(found.begin(), found.end());
      std::vector<const Node*> expected;
      for (const Node& other : nodes) {
        if (other.in && other.start < end && start < other.end) expected.push_back(&other);
      }
      ASSERT_EQ(found, expected) << "seed " << seed << ", step " << step;
    }
  }
}

std::vector<std::uint32_t> numbers(const Segments& s) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < s.count; ++i)
    all.push_back(s.at(i));
  return all;
}

TEST(Segments, AreThoseThatTheRangeTouches) {
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(numbers(Segments::of_range(0, 1, 10, 8)), (Numbers{0}));
  EXPECT_EQ(numbers(Segments::of_range(9, 10, 10, 8)), (Numbers{0}));
  EXPECT_EQ(numbers(Segments::of_range(9, 11, 10, 8)), (Numbers{0, 1}));
  EXPECT_EQ(numbers(Segments::of_range(20, 40, 10, 8)), (Numbers{2, 3}));
  EXPECT_EQ(numbers(Segments::of_range(65, 95, 10, 8)), (Numbers{0, 1, 6, 7}))
      << "round the end, by rising numbers";
  EXPECT_EQ(numbers(Segments::of_range(70, 80, 10, 8)), (Numbers{7}));
  EXPECT_EQ(numbers(Segments::of_range(80, 81, 10, 8)), (Numbers{0}));
  EXPECT_EQ(numbers(Segments::of_range(15, 86, 10, 8)), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(numbers(Segments::of_range(0, ~std::uint64_t{0}, 1, 4)), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(numbers(Segments::of_range(~std::uint64_t{0} - 1, ~std::uint64_t{0}, 1, 4)),
            (Numbers{2}));
}

// A wait policy under which every wait ends at once: the obstacle has just gone, and another one is
// in its place.
struct AlwaysSomethingElse {
  static constexpr bool kParks = false;
  static inline int waits = 0;
  static constexpr int kMost = 1000;
  template <class A, class Pred>
  static bool until(A&, Order, typename A::value_type, std::uint32_t, const Deadline*, Pred) {
    return ++waits < kMost;
  }
  template <class A>
  static void wake(const A*, std::uint32_t) {}
};

template <class Lock>
class Deadlines : public testing::Test {};
using Lists = testing::Types<RangeList<Native, AlwaysSomethingElse, false>,
                             RangeList<Native, AlwaysSomethingElse, true>,
                             ShardedRanges<Native, AlwaysSomethingElse>>;
TYPED_TEST_SUITE(Deadlines, Lists);

TYPED_TEST(Deadlines, AreLookedAtBetweenWaitsThatEndSoon) {
  ThreadExit::prepare(&watched_by_libc);
  TypeParam lock{};
  const RangeOptions options{.fair = true, .writers_first = false};
  typename TypeParam::Node* held = nullptr;
  const RangeRequest all{0, 10, false, false, nullptr};
  ASSERT_EQ(acquire_range(lock, all, options, held), 0);
  AlwaysSomethingElse::waits = 0;
  int result = -1;
  std::thread([&] {
    const Deadline over = deadline_in(0, 0);
    typename TypeParam::Node* mine = nullptr;
    result = acquire_range(lock, {5, 15, false, false, &over}, options, mine);
  }).join();
  EXPECT_EQ(result, ETIMEDOUT);
  EXPECT_EQ(AlwaysSomethingElse::waits, 0);
  release_range(lock, held);
  EXPECT_FALSE(lock.busy());
}

}  // namespace
