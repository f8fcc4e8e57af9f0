// The structures under Read-Log-Update: as sets, linearizable, and as parts of one section.
#include <algorithm>

#include "deferred.h"
#include "rlu/rlu_sets.h"
#include "set_checks.h"

namespace {

using namespace bench;
using lockswap::rlu::section;
using lockswap::rlu::update;

template <class S>
class RluStructure : public testing::Test {};
using Structures = testing::Types<RluList, RluDoubleList, RluCitrus, RluHash, RluResizable>;
TYPED_TEST_SUITE(RluStructure, Structures);

template <class S>
constexpr std::size_t kBuckets =
    std::is_same_v<S, RluHash> || std::is_same_v<S, RluResizable> ? 3 : 1;

TYPED_TEST(RluStructure, IsASet) { expect_set<TypeParam>(kBuckets<TypeParam>, 1); }
TYPED_TEST(RluStructure, IsASetWithDeferral) {
  const Deferred here(10);
  expect_set<TypeParam>(kBuckets<TypeParam>, 2);
}
TYPED_TEST(RluStructure, IsLinearizable) {
  expect_history<TypeParam>(kBuckets<TypeParam>, 500, true);
}
TYPED_TEST(RluStructure, HasOneOrderForEachKeyWithDeferral) {
  const Deferred here(5);
  expect_history<TypeParam>(kBuckets<TypeParam>, 500, false);
}

TEST(RluStructures, AnotherThreadSeesDeferredChangesAfterAFlush) {
  const Deferred here(100);
  lockswap::rlu::list<int> list;
  ASSERT_TRUE(list.insert(1));
  EXPECT_TRUE(list.contains(1)) << "the thread that did it";
  bool before = true;
  bool after = false;
  std::thread([&] { before = list.contains(1); }).join();
  lockswap_rlu_flush();
  std::thread([&] { after = list.contains(1); }).join();
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

TEST(RluStructures, AreMapsIfAPartIsCompared) {
  struct Pair {
    int key;
    int value;
  };
  struct ByKey {
    bool operator()(const Pair& a, const Pair& b) const { return a.key < b.key; }
  };
  lockswap::rlu::list<Pair, ByKey> map;
  EXPECT_TRUE(map.insert({1, 10}));
  EXPECT_FALSE(map.insert({1, 11}));
  ASSERT_TRUE(map.find({1, 0}).has_value());
  EXPECT_EQ(map.find({1, 0})->value, 10);
  EXPECT_FALSE(map.find({2, 0}).has_value());
}

// Items go from one structure to another one, in one section; a section that looks at both finds
// each in one of them. Under a limit of `deferral` commits.
template <class From, class To>
void expect_whole_moves(From& from, To& to, unsigned deferral) {
  constexpr int kItems = 16;
  constexpr int kMoves = 2000;
  const Deferred deferred(deferral);
  for (int i = 0; i < kItems; ++i)
    from.insert(i);
  lockswap_rlu_flush();
  std::atomic<int> writers{2};
  std::atomic<int> wrong{0};
  const auto move = [](auto& a, auto& b, int item) {
    typename std::remove_reference_t<decltype(b)>::entry fresh(item);
    const bool moved = update([&](section& here) -> std::optional<bool> {
      const auto gone = a.remove(here, item);
      if (!gone || !*gone) return gone;
      return b.insert(here, fresh);
    });
    if (moved) fresh.inserted();
    return moved;
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < kMoves; ++i) {
        const int item = static_cast<int>(random() % kItems);
        if (!move(from, to, item)) move(to, from, item);
      }
      --writers;
    });
  }
  threads.emplace_back([&] {
    while (writers.load() != 0) {
      std::vector<int> found;
      section here;
      from.for_each([&](int item) { found.push_back(item); });
      to.for_each([&](int item) { found.push_back(item); });
      for (int i = 0; i < kItems; ++i) {
        if (from.contains(here, i) == to.contains(here, i)) ++wrong;
      }
      here.end();
      std::sort(found.begin(), found.end());
      for (int i = 0; i < kItems; ++i) {
        if (found.size() != kItems || found[static_cast<std::size_t>(i)] != i) {
          ++wrong;
          break;
        }
      }
    }
  });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(RluStructures, SeveralChangesAreOne) {
  for (const unsigned deferral : {1u, 10u}) {
    lockswap::rlu::list<int> list;
    lockswap::rlu::hash_set<int> hash(4);
    expect_whole_moves(list, hash, deferral);
    lockswap::rlu::double_list<int> both_ways;
    lockswap::rlu::citrus<int> tree;
    expect_whole_moves(both_ways, tree, deferral);
    lockswap::rlu::resizable_hash_set<int> table(4);
    lockswap::rlu::list<int> other;
    expect_whole_moves(table, other, deferral);
  }
}

TEST(RluStructures, ADoubleListIsTheSameBackwards) {
  lockswap::rlu::double_list<int> list;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
      const int item = static_cast<int>(random() % 32);
      if (random() % 2 == 0) {
        list.insert(item);
      } else {
        list.remove(item);
      }
    }
    stop = true;
  });
  int wrong = 0;
  while (!stop.load()) {
    const section here;
    std::vector<int> there;
    std::vector<int> back;
    list.for_each([&](int item) { there.push_back(item); });
    list.for_each_from_end([&](int item) { back.push_back(item); });
    if (!std::equal(there.begin(), there.end(), back.rbegin(), back.rend())) ++wrong;
    if (!std::is_sorted(there.begin(), there.end())) ++wrong;
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

TEST(OrderedHistory, FindsWhatNoOrderExplains) {
  using enum SetCall;
  const auto good = [](bool first, bool last, std::vector<OfThread> threads) {
    return OrderedHistory(std::move(threads)).is_explained(first, last);
  };
  const auto did = [](SetCall call, bool result) { return SetOperation{call, result, 0, 0}; };
  EXPECT_TRUE(good(false, false, {}));
  EXPECT_FALSE(good(false, true, {}));
  EXPECT_TRUE(good(false, true, {{did(insert, true), did(contains, true)}, {did(contains, false)}}))
      << "the other thread sees it later";
  EXPECT_FALSE(good(false, false, {{did(insert, true)}})) << "got lost";
  EXPECT_FALSE(good(false, true, {{did(insert, true), did(contains, false)}})) << "its own change";
  EXPECT_FALSE(good(false, true, {{did(insert, true)}, {did(insert, true)}}));
  EXPECT_FALSE(
      good(false, true, {{did(insert, true)}, {did(contains, true), did(contains, false)}}))
      << "backwards";
}

}  // namespace
