// The skip lists of the benchmark: as a set, by one thread; linearizable, by several.
#include <atomic>
#include <barrier>
#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "histories.h"
#include "skip_list/node_locks.h"
#include "skip_list/ranges.h"

namespace {

using namespace bench;

template <class List>
class SkipListTest : public testing::Test {};
using Lists = testing::Types<NodeLocksSkipList, RangesSkipList>;
TYPED_TEST_SUITE(SkipListTest, Lists);

TYPED_TEST(SkipListTest, IsASet) {
  TypeParam list;
  typename TypeParam::Hand hand(list, 1);
  std::set<std::uint32_t> model;
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t key = 1 + random() % 300;
    switch (random() % 3) {
      case 0:
        ASSERT_EQ(list.insert(hand, key), model.insert(key).second);
        break;
      case 1:
        ASSERT_EQ(list.remove(hand, key), model.erase(key) == 1);
        break;
      default:
        ASSERT_EQ(list.contains(hand, key), model.contains(key));
    }
  }
  std::vector<std::uint32_t> keys;
  list.for_each([&](std::uint32_t key) { keys.push_back(key); });
  EXPECT_EQ(keys, std::vector<std::uint32_t>(model.begin(), model.end()));
  EXPECT_EQ(hand.nodes, static_cast<std::int64_t>(model.size()));
  std::int64_t bytes = 0;
  EXPECT_TRUE(list.is_whole(bytes));
  EXPECT_EQ(hand.bytes, bytes);
}

TYPED_TEST(SkipListTest, IsLinearizable) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 1000;
  constexpr std::uint32_t kKeys = 4;
  constexpr int kOperations = 6;  // a thread, a round
  static_assert(kThreads * kOperations + 1 <= 32, "what KeyHistory takes");
  TypeParam list;
  std::deque<typename TypeParam::Hand> hands;
  for (int t = 0; t < kThreads; ++t)
    hands.emplace_back(list, static_cast<unsigned>(t));
  std::atomic<std::uint64_t> clock{0};
  struct Done {
    std::uint32_t key;
    SetOperation operation;
  };
  std::vector<std::vector<Done>> done(kThreads);
  std::vector<bool> there(kKeys + 1);
  int wrong = 0;

  // Between two rounds nobody is in an operation: what is there then is where the next one begins.
  const auto judge = [&]() noexcept {
    for (std::uint32_t key = 1; key <= kKeys; ++key) {
      std::vector<SetOperation> of_key;
      for (const auto& thread : done) {
        for (const Done& d : thread) {
          if (d.key == key) of_key.push_back(d.operation);
        }
      }
      // What is there in the end is one more observation.
      const bool now = list.contains(hands[0], key);
      const std::uint64_t end = clock.fetch_add(2);
      of_key.push_back({SetCall::contains, now, end, end + 1});
      if (!KeyHistory(of_key).is_linearizable(there[key])) ++wrong;
      there[key] = now;
    }
    for (auto& thread : done)
      thread.clear();
  };
  std::barrier turn(kThreads, judge);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t) + 7);
      for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kOperations; ++i) {
          const auto key = static_cast<std::uint32_t>(1 + random() % kKeys);
          const auto call = static_cast<SetCall>(random() % 3);
          const std::uint64_t began = clock.fetch_add(1);
          const bool result = call == SetCall::contains ? list.contains(hands[t], key)
                              : call == SetCall::insert ? list.insert(hands[t], key)
                                                        : list.remove(hands[t], key);
          done[t].push_back({key, {call, result, began, clock.fetch_add(1)}});
          if (random() % 4 == 0) std::this_thread::yield();
        }
        turn.arrive_and_wait();
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
  std::int64_t counted = 0;
  for (const auto& hand : hands)
    counted += hand.bytes;
  std::int64_t bytes = 0;
  EXPECT_TRUE(list.is_whole(bytes));
  EXPECT_EQ(counted, bytes) << "what the threads have counted, and what is there";
}

TEST(KeyHistory, FindsWhatNoOrderExplains) {
  using enum SetCall;
  const auto good = [](bool there, std::vector<SetOperation> all) {
    return KeyHistory(std::move(all)).is_linearizable(there);
  };
  EXPECT_TRUE(good(false, {}));
  EXPECT_TRUE(good(false, {{insert, true, 0, 1}, {contains, true, 2, 3}, {remove, true, 4, 5}}));
  EXPECT_FALSE(good(false, {{insert, true, 0, 1}, {contains, false, 2, 3}}));
  EXPECT_TRUE(good(false, {{insert, true, 0, 3}, {contains, false, 1, 2}})) << "at the same time";
  EXPECT_FALSE(good(false, {{insert, true, 0, 2}, {insert, true, 1, 3}})) << "both got it in";
  EXPECT_FALSE(good(true, {{remove, true, 0, 2}, {remove, true, 1, 3}}));
  EXPECT_TRUE(good(true, {{remove, true, 0, 2}, {remove, false, 1, 3}}));
  // Two readers that see an insertion in different orders.
  EXPECT_FALSE(
      good(false, {{insert, true, 0, 9}, {contains, true, 1, 2}, {contains, false, 3, 4}}));
  EXPECT_TRUE(good(false, {{insert, true, 0, 9}, {contains, false, 1, 2}, {contains, true, 3, 4}}));
}

}  // namespace
