// The cache database, under Read-Log-Update and under both kinds of a global lock: by one thread it
// does what a model does; by several, recorded histories are linearizable, each look at it sees one
// state, no change is lost, and none aborts.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "lockswap/rlu.h"
#include "lockswap/rlu_cache.hpp"
#include "rlu/guarded_cache.h"
#include "set_checks.h"

namespace {

using lockswap::rlu::cache_options;

template <class Db>
class CacheDatabase : public testing::Test {};
using Databases =
    testing::Types<lockswap::rlu::cache, bench::GuardedCache<bench::SetTakes::exclusive>,
                   bench::GuardedCache<bench::SetTakes::exclusive, bench::Mutex>,
                   bench::GuardedCache<bench::SetTakes::shared>>;
TYPED_TEST_SUITE(CacheDatabase, Databases);

std::string bytes_of(std::int64_t number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}
std::int64_t number_of(std::string_view text) {
  std::int64_t number = -1;
  if (text.size() == sizeof number) std::memcpy(&number, text.data(), sizeof number);
  return number;
}
template <class Db>
std::map<std::string, std::string> all_of(Db& db) {
  std::map<std::string, std::string> all;
  db.for_each([&](std::string_view key, std::string_view content) {
    EXPECT_TRUE(all.emplace(key, content).second) << "twice: " << key;
  });
  return all;
}

// Few buckets: their trees are deep, and records with two children are removed.
template <class Db>
void expect_like_a_map(bool lru) {
  Db db(cache_options{.buckets = 1, .lru = lru});
  std::map<std::string, std::string> model;
  std::mt19937 random(lru ? 1 : 2);
  for (int i = 0; i < 12000; ++i) {
    const std::string key = std::to_string(random() % 300);
    const std::string content = std::string(random() % 40, 'c') + std::to_string(i);
    std::string got;
    switch (random() % 20) {
      case 0:
      case 1:
      case 2:
      case 3:
        db.set(key, content);
        model[key] = content;
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        ASSERT_EQ(db.add(key, content), model.emplace(key, content).second);
        break;
      case 8:
      case 9:
      case 10:
      case 11:
      case 12:
      case 13:
        ASSERT_EQ(db.remove(key), model.erase(key) == 1);
        break;
      case 14: {
        const auto before = model.find(key);
        const auto now = db.increment(key, 5, 100);
        if (before == model.end()) {
          ASSERT_EQ(now, 105);
        } else if (before->second.size() == 8) {
          ASSERT_EQ(now, number_of(before->second) + 5);
        } else {
          ASSERT_FALSE(now);
          break;
        }
        model[key] = bytes_of(*now);
        break;
      }
      default:
        ASSERT_EQ(db.get(key, got), model.contains(key));
        if (!got.empty()) {
          ASSERT_EQ(got, model[key]);
        }
    }
    if (i % 4000 == 3999) {
      db.clear();
      model.clear();
    }
    if (i % 500 == 499) {
      ASSERT_EQ(all_of(db), model);
    }
    ASSERT_EQ(db.count(), model.size());
  }
}
TYPED_TEST(CacheDatabase, IsAMap) { expect_like_a_map<TypeParam>(false); }
TYPED_TEST(CacheDatabase, IsAMapWithLru) { expect_like_a_map<TypeParam>(true); }

TYPED_TEST(CacheDatabase, KeepsEmptyAndBinaryKeys) {
  TypeParam db(cache_options{.buckets = 1});
  const std::string zeros("a\0b", 3);
  db.set("", "nothing");
  db.set(zeros, "");
  std::string got = "x";
  EXPECT_FALSE(db.get("a", got));
  EXPECT_EQ(got, "x");
  ASSERT_TRUE(db.get(zeros, got));
  EXPECT_EQ(got, "");
  ASSERT_TRUE(db.get("", got));
  EXPECT_EQ(got, "nothing");
  EXPECT_TRUE(db.remove(""));
  EXPECT_EQ(db.count(), 1u);
}

// The records of each slot as a list, the oldest first. The slot of a key is learned from where
// for_each lists it: so the model needs not know how keys are spread.
template <class Db>
void expect_order(bool lru) {
  constexpr std::size_t kPerSlot = 5;
  Db db(cache_options{.buckets = 40, .capacity = (kPerSlot - 1) * 16, .lru = lru});
  const auto order = [&] {
    std::vector<std::string> keys;
    db.for_each([&](std::string_view key, std::string_view) { keys.emplace_back(key); });
    return keys;
  };
  std::mt19937 random(3);
  std::vector<std::string> before;
  std::string got;
  int evictions = 0;
  int rotations = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string key = std::to_string(random() % 200);
    const bool was_there = std::find(before.begin(), before.end(), key) != before.end();
    const bool is_get = random() % 2 == 0;
    if (is_get) {
      ASSERT_EQ(db.get(key, got), was_there);
    } else {
      db.set(key, "content");
    }
    const std::vector<std::string> after = order();
    ASSERT_EQ(after.size(), db.count());
    if (was_there) {
      ASSERT_EQ(after.size(), before.size());
      if (!lru) {
        ASSERT_EQ(after, before) << "nothing moves";
      }
      // The used record goes back to the end of its slot; the others keep their order.
      auto rest_before = before;
      auto rest_after = after;
      std::erase(rest_before, key);
      std::erase(rest_after, key);
      ASSERT_EQ(rest_after, rest_before);
      const auto at = [&](const auto& keys) {
        return std::find(keys.begin(), keys.end(), key) - keys.begin();
      };
      ASSERT_GE(at(after), at(before)) << "a used record never gets older";
      rotations += at(after) > at(before) ? 1 : 0;
    } else if (!is_get && after.size() == before.size()) {
      ++evictions;  // one record less: the oldest of that slot, so the one kPerSlot before the new
      const auto fresh = std::find(after.begin(), after.end(), key);
      ASSERT_NE(fresh, after.end());
      const auto place = fresh - after.begin();
      auto expected = before;
      expected.insert(expected.begin() + place + 1, key);
      expected.erase(expected.begin() + place + 1 - static_cast<std::ptrdiff_t>(kPerSlot));
      ASSERT_EQ(after, expected);
    }
    before = after;
  }
  EXPECT_GT(evictions, 100);
  EXPECT_EQ(rotations > 100, lru);
  EXPECT_EQ(before.size(), kPerSlot * 16);
}
TYPED_TEST(CacheDatabase, ThrowsTheOldestAway) { expect_order<TypeParam>(false); }
TYPED_TEST(CacheDatabase, ThrowsTheLeastRecentlyUsedAway) { expect_order<TypeParam>(true); }

// Keys that are always set together are always the same, whatever slots they are in; increments
// add up.
template <class Db>
void expect_whole_states(bool lru, int rounds) {
  Db db(cache_options{.buckets = 20, .lru = lru});
  std::atomic<int> writers{3};
  std::atomic<long> looks{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < rounds; ++i) {
        const std::string content = std::to_string(t) + "." + std::to_string(i);
        const std::pair<std::string_view, std::string_view> both[] = {
            {"left", content}, {"right", content}, {"middle", content}};
        db.set_all(both);
        const std::string other = "other" + std::to_string(random() % 50);
        if (i % 2 == 0)
          db.set(other, content);
        else
          db.remove(other);
        db.increment("sum" + std::to_string(random() % 5), 1);
      }
      --writers;
    });
  }
  threads.emplace_back([&] {
    std::string got;
    for (int i = 0; i < rounds; ++i) {
      if (!db.get("left", got)) got.clear();
      db.increment("sum" + std::to_string(i % 5), 1);
    }
    --writers;
  });
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      std::int64_t last = 0;
      do {
        std::map<std::string, std::string> seen;
        std::int64_t sum = 0;
        db.for_each([&](std::string_view key, std::string_view content) {
          if (!seen.emplace(key, content).second) ++wrong;
          if (key.substr(0, 3) == "sum") sum += number_of(content);
        });
        if (seen.contains("left") != seen.contains("right")) ++wrong;
        if (seen["left"] != seen["right"] || seen["left"] != seen["middle"]) ++wrong;
        if (sum < last) ++wrong;
        last = sum;
        ++looks;
      } while (writers.load() > 0);
    });
  }
  for (auto& t : threads)
    t.join();
  std::int64_t sum = 0;
  for (const auto& [key, content] : all_of(db))
    if (key.substr(0, 3) == "sum") sum += number_of(content);
  EXPECT_EQ(sum, 3 * rounds);
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(looks.load(), 0);
}
TYPED_TEST(CacheDatabase, IsSeenInOneState) { expect_whole_states<TypeParam>(false, 1000); }
TYPED_TEST(CacheDatabase, IsSeenInOneStateWithLru) { expect_whole_states<TypeParam>(true, 1000); }

// Threads that change records of one tree, each its own: what one of them takes out may be the
// parent of what another one puts in at that moment. Each change is done once: the writer locks of
// the slots keep away what would make it abort.
TYPED_TEST(CacheDatabase, IsChangedByManyWithoutAnAbort) {
  lockswap_rlu_counts before{};
  ASSERT_EQ(lockswap_rlu_get_counts(&before), 0);
  TypeParam db(cache_options{.buckets = 1});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::map<std::string, std::string> mine;
      std::string got;
      for (int i = 0; i < 10000; ++i) {
        const std::string key = std::to_string(random() % 200) + "." + std::to_string(t);
        const bool was_there = mine.contains(key);
        if (db.get(key, got) != was_there || (was_there && got != mine[key])) ++wrong;
        if (was_there) {
          if (!db.remove(key)) ++wrong;
          mine.erase(key);
        } else {
          mine[key] = std::to_string(i);
          if (!db.add(key, mine[key])) ++wrong;
        }
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(wrong.load(), 0);
  lockswap_rlu_counts after{};
  ASSERT_EQ(lockswap_rlu_get_counts(&after), 0);
  EXPECT_EQ(after.aborts, before.aborts);
}

// As a set of keys: `add`, `remove` and `get`, all of them in one tree.
template <class Db, bool kLru>
class KeysOf {
 public:
  explicit KeysOf(std::size_t buckets) : db_(cache_options{.buckets = buckets, .lru = kLru}) {}
  static void attach() { lockswap_rlu_register(); }
  static void flush() { lockswap_rlu_flush_all(); }
  bool contains(bench::Key key) {
    std::string got;
    return db_.get(bytes_of(static_cast<std::int64_t>(key)), got) && got == "content";
  }
  bool insert(bench::Key key) {
    return db_.add(bytes_of(static_cast<std::int64_t>(key)), "content");
  }
  bool remove(bench::Key key) { return db_.remove(bytes_of(static_cast<std::int64_t>(key))); }
  template <class F>
  void for_each(F f) {
    db_.for_each([&](std::string_view key, std::string_view) { f(number_of(std::string(key))); });
  }

 private:
  Db db_;
};
TYPED_TEST(CacheDatabase, IsLinearizable) {
  bench::expect_history<KeysOf<TypeParam, false>>(1, 500, true);
}
TYPED_TEST(CacheDatabase, IsLinearizableWithLru) {
  bench::expect_history<KeysOf<TypeParam, true>>(1, 500, true);
}

// A clear takes the records of all slots at once.
TYPED_TEST(CacheDatabase, IsClearedAtOnce) {
  TypeParam db(cache_options{.buckets = 20});
  std::vector<std::string> keys;
  for (int i = 0; i < 64; ++i)
    keys.push_back(std::to_string(i));
  std::vector<std::pair<std::string_view, std::string_view>> records;
  for (const std::string& key : keys)
    records.emplace_back(key, "content");
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!over.load()) {
      std::size_t n = 0;
      db.for_each([&](std::string_view, std::string_view) { ++n; });
      if (n != 0 && n != keys.size()) ++wrong;
    }
  });
  for (int i = 0; i < 100; ++i) {
    db.set_all(records);
    db.clear();
  }
  over = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(db.count(), 0u);
}

}  // namespace
