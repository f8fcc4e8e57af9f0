// The resizable table, with and without checks: while it is resized, and after that has failed.
#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "deferred.h"
#include "lockswap/rlu_resizable_hash.hpp"

namespace {

using bench::Deferred;
using lockswap::rlu::section;

// Keys that stay are always found, each once, and others come and go.
TEST(RluTable, IsWholeWhileItIsResized) {
  for (const unsigned deferral : {1u, 10u}) {
    const Deferred deferred(deferral);
    constexpr int kStay = 200;  // the even keys
    lockswap::rlu::resizable_hash_set<int> table(16);
    for (int i = 0; i < kStay; ++i)
      ASSERT_TRUE(table.insert(i * 2));
    lockswap_rlu_flush();
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      std::mt19937 random(1);
      while (!stop.load()) {
        const int key = static_cast<int>(random() % kStay);
        if (!table.contains(key * 2) || table.insert(key * 2)) ++wrong;
        if (!table.insert(key * 2 + 1) || !table.contains(key * 2 + 1)) ++wrong;
        if (!table.remove(key * 2 + 1) || table.contains(key * 2 + 1)) ++wrong;
      }
    });
    threads.emplace_back([&] {
      while (!stop.load()) {
        std::multiset<int> found;
        table.for_each([&](int key) { found.insert(key); });
        for (int i = 0; i < kStay; ++i) {
          if (found.count(i * 2) != 1) ++wrong;
        }
        if (found.size() > kStay + 1) ++wrong;
      }
    });
    for (int i = 0; i < 60; ++i)
      table.resize(i % 3 == 0 ? 128 : i % 3 == 1 ? 4 : 32);
    EXPECT_EQ(table.buckets(), 32u);
    stop = true;
    for (auto& t : threads)
      t.join();
    EXPECT_EQ(wrong.load(), 0) << "deferral " << deferral;
  }
}

// The writer's commits have not taken effect when the resize begins.
TEST(RluTable, KeepsWhatAnotherThreadHasDeferred) {
  const Deferred deferred(100);
  lockswap::rlu::resizable_hash_set<int> table(4);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(table.insert(i));
  lockswap_rlu_flush();
  std::latch changed(1);
  std::latch resized(1);
  std::thread writer([&] {
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(table.remove(i));
      EXPECT_TRUE(table.insert(i + 10));
    }
    changed.count_down();
    resized.wait();
  });
  changed.wait();
  table.resize(8);
  table.resize(2);
  resized.count_down();
  writer.join();
  std::set<int> found;
  table.for_each([&](int item) { EXPECT_TRUE(found.insert(item).second) << item; });
  EXPECT_EQ(found, (std::set<int>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

TEST(RluTable, IsNotResizedInASection) {
  lockswap::rlu::resizable_hash_set<int> table(4);
  const section here;
  EXPECT_THROW(table.resize(8), std::system_error);
  EXPECT_EQ(table.buckets(), 4u);
}

// Throws when it has hashed that many items.
struct Limited {
  long* left;
  std::size_t operator()(int item) const {
    if (--*left == 0) throw std::bad_alloc();
    return static_cast<std::size_t>(item);
  }
};

// Some pairs of buckets are moved by then, others are about to be, and the rest are as before. The
// hash is needed only where a table grows.
TEST(RluTable, IsWholeAfterAResizeThatHasFailed) {
  constexpr int kItems = 6000;
  for (const long first : {1L, 2000L, 4000L, 5999L}) {
    long left = -1;
    lockswap::rlu::resizable_hash_set<int, Limited> table(4096, Limited{&left});
    for (int i = 0; i < kItems; ++i)
      ASSERT_TRUE(table.insert(i));
    left = first;
    EXPECT_THROW(table.resize(8192), std::bad_alloc);
    left = -1;
    std::set<int> found;
    table.for_each([&](int item) { EXPECT_TRUE(found.insert(item).second) << item; });
    EXPECT_EQ(found.size(), static_cast<std::size_t>(kItems));
    for (int i = 0; i < kItems; i += 2) {
      ASSERT_TRUE(table.remove(i));
      ASSERT_TRUE(table.insert(-1 - i));
      ASSERT_TRUE(table.contains(i + 1));
      ASSERT_FALSE(table.contains(i));
    }
    table.resize(2048);
    EXPECT_EQ(table.buckets(), 2048u);
    EXPECT_EQ(table.size(), static_cast<std::size_t>(kItems));
    table.clear();
    EXPECT_EQ(table.size(), 0u);
  }
}

}  // namespace
