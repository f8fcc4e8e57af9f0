// What the sets have as the standard's have it: size, clear, values that change, walks of a part;
// and what they refuse.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "lockswap/rlu_citrus.hpp"
#include "lockswap/rlu_double_list.hpp"
#include "lockswap/rlu_hash.hpp"
#include "lockswap/rlu_list.hpp"
#include "lockswap/rlu_resizable_hash.hpp"

namespace {

namespace rlu = lockswap::rlu;

struct Pair {
  int key;
  int value;
};
// The order of `sign * key`: it has a state.
struct Order {
  int sign = 1;
  bool operator()(const Pair& a, const Pair& b) const { return sign * a.key < sign * b.key; }
};
struct Hash {
  std::size_t operator()(const Pair& p) const { return std::hash<int>()(p.key); }
};
struct Equal {
  bool operator()(const Pair& a, const Pair& b) const { return a.key == b.key; }
};

template <class S>
struct Set;
template <>
struct Set<rlu::list<Pair, Order>> {
  rlu::list<Pair, Order> set;
};
template <>
struct Set<rlu::double_list<Pair, Order>> {
  rlu::double_list<Pair, Order> set;
};
template <>
struct Set<rlu::citrus<Pair, Order>> {
  rlu::citrus<Pair, Order> set;
};
template <>
struct Set<rlu::hash_set<Pair, Hash, Order>> {
  rlu::hash_set<Pair, Hash, Order> set{5};
};
template <>
struct Set<rlu::resizable_hash_set<Pair, Hash, Equal>> {
  rlu::resizable_hash_set<Pair, Hash, Equal> set{4};
};

template <class S>
class RluSet : public testing::Test {
 protected:
  std::vector<int> keys() {
    std::vector<int> all;
    set_.for_each([&](const Pair& p) { all.push_back(p.key); });
    std::sort(all.begin(), all.end());
    return all;
  }
  Set<S> holder_;
  S& set_ = holder_.set;
};
template <class S>
class RluOrderedSet : public testing::Test {};

using Ordered =
    testing::Types<rlu::list<Pair, Order>, rlu::double_list<Pair, Order>, rlu::citrus<Pair, Order>>;
using All =
    testing::Types<rlu::list<Pair, Order>, rlu::double_list<Pair, Order>, rlu::citrus<Pair, Order>,
                   rlu::hash_set<Pair, Hash, Order>, rlu::resizable_hash_set<Pair, Hash, Equal>>;
TYPED_TEST_SUITE(RluSet, All);
TYPED_TEST_SUITE(RluOrderedSet, Ordered);

TYPED_TEST(RluSet, HasASizeAndIsCleared) {
  auto& set = this->set_;
  set.clear();
  EXPECT_EQ(set.size(), 0u);
  for (const int k : {5, 2, 9, 7, 1, 8})
    EXPECT_TRUE(set.insert({k, k}));
  EXPECT_EQ(set.size(), 6u);
  EXPECT_TRUE(set.erase({5, 0}));
  EXPECT_FALSE(set.erase({5, 0}));
  EXPECT_EQ(set.size(), 5u);
  set.clear();
  EXPECT_EQ(set.size(), 0u);
  EXPECT_FALSE(set.contains({2, 0}));
  EXPECT_TRUE(set.insert({2, 3}));
  EXPECT_EQ(this->keys(), std::vector<int>{2});
}

TYPED_TEST(RluSet, ChangesAValue) {
  auto& set = this->set_;
  EXPECT_TRUE(set.insert_or_assign({1, 10}));
  EXPECT_FALSE(set.insert_or_assign({1, 11}));
  EXPECT_FALSE(set.insert({1, 12}));
  EXPECT_EQ(set.find({1, 0})->value, 11);
  EXPECT_EQ(set.size(), 1u);
}

TYPED_TEST(RluSet, RefusesAChangeOfItsOwnInAWalk) {
  auto& set = this->set_;
  Set<TypeParam> another;
  for (int i = 0; i < 4; ++i)
    set.insert({i, i});
  int refused = 0;
  const auto refuses = [&refused](const auto& change) {
    try {
      change();
    } catch (const std::system_error& e) {
      refused += e.code().value() == EDEADLK ? 1 : 0;
    }
  };
  set.for_each([&](const Pair& p) {
    refuses([&] { another.set.insert(p); });
    refuses([&] { another.set.insert_or_assign(p); });
    refuses([&] { set.remove(p); });
    refuses([&] { set.erase(p); });
    refuses([&] { set.clear(); });
    EXPECT_TRUE(set.contains(p)) << "a look is a part of the walk";
  });
  EXPECT_EQ(refused, 4 * 5);
  EXPECT_EQ(lockswap_rlu_depth(), 0u);
  EXPECT_EQ(set.size(), 4u);
  EXPECT_EQ(another.set.size(), 0u);
}

TYPED_TEST(RluSet, IsClearedAtOneMoment) {
  auto& set = this->set_;
  constexpr int kKeys = 6;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread clears([&] {
    for (int i = 0; i < 300; ++i) {
      // All of them in one section, so that there are all or none.
      std::vector<std::unique_ptr<typename TypeParam::entry>> fresh;
      for (int k = 0; k < kKeys; ++k)
        fresh.push_back(std::make_unique<typename TypeParam::entry>(Pair{k, i}));
      rlu::update([&](rlu::section& here) -> std::optional<bool> {
        for (auto& e : fresh) {
          if (!set.insert(here, *e)) return std::nullopt;
        }
        return true;
      });
      for (auto& e : fresh)
        e->inserted();
      set.clear();
    }
    stop = true;
  });
  while (!stop) {
    const std::size_t n = set.size();
    wrong += n == 0 || n == kKeys ? 0 : 1;
  }
  clears.join();
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(RluSet, IsClearedWhileOthersChangeIt) {
  auto& set = this->set_;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&set, t] {
      for (int i = 0; i < 500; ++i) {
        set.insert_or_assign({i % 7, t});
        set.remove({(i + 3) % 7, 0});
        if (i % 50 == 0) set.clear();
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(this->keys().size(), set.size());
  set.clear();
  EXPECT_EQ(set.size(), 0u);
}

TYPED_TEST(RluOrderedSet, WalksAPart) {
  Set<TypeParam> holder;
  auto& set = holder.set;
  for (const int k : {50, 20, 70, 10, 30, 60, 80, 25})
    set.insert({k, 0});
  const auto between = [&set](int first, int end) {
    std::vector<int> keys;
    set.for_each_between({first, 0}, {end, 0}, [&](const Pair& p) { keys.push_back(p.key); });
    return keys;
  };
  EXPECT_EQ(between(20, 60), (std::vector<int>{20, 25, 30, 50}));
  EXPECT_EQ(between(21, 61), (std::vector<int>{25, 30, 50, 60}));
  EXPECT_EQ(between(0, 100), (std::vector<int>{10, 20, 25, 30, 50, 60, 70, 80}));
  EXPECT_EQ(between(81, 100), std::vector<int>{});
  EXPECT_EQ(between(60, 20), std::vector<int>{});
}

TYPED_TEST(RluOrderedSet, IsInTheOrderOfItsComparison) {
  TypeParam set(Order{-1});
  for (const int k : {2, 3, 1})
    set.insert({k, 0});
  std::vector<int> keys;
  set.for_each([&](const Pair& p) { keys.push_back(p.key); });
  EXPECT_EQ(keys, (std::vector<int>{3, 2, 1}));
}

TEST(RluSets, AreOfADomain) {
  rlu::domain late(100);
  rlu::list<int> slow(late);
  rlu::hash_set<int> fast(5);
  const auto seen_by_another = [](const auto& set, int item) {
    bool there = false;
    std::thread([&] { there = set.contains(item); }).join();
    return there;
  };
  slow.insert(1);
  EXPECT_FALSE(seen_by_another(slow, 1));
  fast.insert(1);
  EXPECT_TRUE(seen_by_another(fast, 1));
  EXPECT_TRUE(seen_by_another(slow, 1)) << "what was deferred takes effect with the later commit";
  slow.insert(2);
  // One section of both is deferred as far as both allow.
  rlu::hash_set<int>::entry three(3);
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    const auto gone = slow.remove(here, 2);
    return gone ? fast.insert(here, three) : gone;
  });
  three.inserted();
  EXPECT_TRUE(seen_by_another(fast, 3));
}

TEST(RluSets, RefuseNumbersOfBucketsThatTheyCannotHave) {
  EXPECT_THROW(rlu::hash_set<int>(0), std::invalid_argument);
  EXPECT_THROW(rlu::hash_set<int>(std::size_t{1} << 32), std::invalid_argument);
  EXPECT_THROW(rlu::resizable_hash_set<int>((std::size_t{1} << 31) + 1), std::invalid_argument);
}

TEST(RluSetsDeathTest, AreNotDestroyedInASection) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        const rlu::section here;
        const rlu::list<int> set;
      },
      "a wait for readers inside of a section");
}

// What a set can't have is said where it is named.
template <class T, class Less>
concept ListOf = requires {
  typename rlu::list<T, Less>;
};
struct NoOrder {};
static_assert(ListOf<int, std::less<int>>);
static_assert(!ListOf<int, NoOrder>);
static_assert(!ListOf<std::vector<int>, std::less<std::vector<int>>>);

}  // namespace
