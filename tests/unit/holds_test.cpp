#include "posix/holds.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

#include "platform/native.h"

namespace lockswap::holds_test {
namespace {

// Holds is zero-initialised per thread; a test makes its own.
struct HoldsTest : testing::Test {
  bool only_first(std::uint64_t key, std::uint64_t stamp) {
    return holds.only_first<true>(key, stamp, token);
  }
  HoldRecord* newest(std::uint64_t key, std::uint64_t stamp) {
    return holds.newest<true>(key, stamp, token);
  }
  Holds<Native> holds{};
  std::uint32_t token = 0;
};

TEST_F(HoldsTest, TheFirstHoldIsTheHotOne) {
  EXPECT_TRUE(holds.none());
  holds.set_first<true>(0x100, 9, 7);
  EXPECT_FALSE(holds.none());
  EXPECT_TRUE(only_first(0x100, 9));
  EXPECT_EQ(token, 7u);
  EXPECT_FALSE(only_first(0x100, 10)) << "a record of an earlier life";
  ASSERT_NE(holds.find(0x100), nullptr);
  EXPECT_EQ(holds.find(0x100)->token, 7u);
  EXPECT_EQ(holds.find(0x100)->again, 0u);
  holds.clear_first();
  EXPECT_TRUE(holds.none());
  EXPECT_EQ(holds.find(0x100), nullptr);
}

TEST_F(HoldsTest, EntriesStayWhereTheyAreInWhicheverOrderTheyEnd) {
  for (std::uint64_t k = 1; k <= 4; ++k)
    holds.add(k * 56, 9, static_cast<std::uint32_t>(k));
  EXPECT_FALSE(only_first(56, 9));
  HoldRecord* const first = holds.find(56);
  HoldRecord* const last = holds.find(4 * 56);
  holds.remove(holds.find(56));
  EXPECT_FALSE(holds.none());
  EXPECT_EQ(holds.find(4 * 56), last);
  EXPECT_EQ(holds.place_for(4 * 56), nullptr) << "it holds that lock, behind the gap";
  EXPECT_EQ(holds.place_for(5 * 56), first) << "the gap";
  for (std::uint64_t k = 2; k <= 4; ++k) {
    ASSERT_NE(holds.find(k * 56), nullptr);
    EXPECT_EQ(holds.find(k * 56)->token, k);
    holds.remove(holds.find(k * 56));
  }
  EXPECT_TRUE(holds.none());
}

TEST_F(HoldsTest, APlaceIsTheFirstEmptyEntryOfAThreadThatHasNotTheLock) {
  HoldRecord* const first = holds.place_for(56);
  ASSERT_NE(first, nullptr);
  holds.add(56, 9, 1);
  EXPECT_EQ(holds.find(56), first);
  EXPECT_EQ(holds.place_for(56), nullptr) << "it holds that lock";
  HoldRecord* place = holds.place_for(112);
  ASSERT_NE(place, nullptr);
  holds.set<true>(*place, 112, 9, 2);
  EXPECT_EQ(holds.find(112), place);
  holds.add(168, 9, 3);
  holds.add(224, 9, 4);
  EXPECT_EQ(holds.place_for(280), nullptr) << "all entries are full";
}

TEST_F(HoldsTest, OnlyTheLastEntryEndsWithoutAGap) {
  EXPECT_EQ(newest(56, 9), nullptr);
  for (std::uint64_t k = 1; k <= 4; ++k)
    holds.add(k * 56, 9, static_cast<std::uint32_t>(k));
  EXPECT_EQ(newest(56, 9), nullptr);
  EXPECT_EQ(newest(4 * 56, 8), nullptr) << "a record of an earlier life";
  ASSERT_NE(newest(4 * 56, 9), nullptr);
  EXPECT_EQ(token, 4u);
  holds.add(5 * 56, 9, 5);
  EXPECT_EQ(newest(4 * 56, 9), nullptr) << "the fifth is in the table";
  EXPECT_EQ(newest(5 * 56, 9), nullptr) << "it is in the table";
  holds.remove(holds.find(5 * 56));
  newest(4 * 56, 9)->key = 0;
  EXPECT_NE(newest(3 * 56, 9), nullptr);
}

// Whatever a handler left there.
TEST_F(HoldsTest, ANewEntryStartsWithoutRepetitions) {
  holds.add(56, 9, 1);
  holds.find(56)->again = 3;
  holds.add(112, 9, 2);
  holds.find(112)->again = 5;
  holds.remove(holds.find(56));
  holds.remove(holds.find(112));
  HoldRecord* const first = holds.place_for(168);
  ASSERT_NE(first, nullptr);
  first->again = 7;
  holds.set_first<false>(168, 9, 0);
  EXPECT_EQ(first->again, 0u);
  first->again = 7;
  holds.set_first<true>(168, 9, 5);
  EXPECT_EQ(first->again, 0u);
  EXPECT_EQ(first->token, 5u);
}

TEST_F(HoldsTest, ThousandsOfHoldsInRandomOrderAgreeWithAMap) {
  std::map<std::uint64_t, HoldRecord> model;
  std::mt19937 random(1);
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t key = (1 + random() % 3000) * 56;
    HoldRecord* h = holds.find(key);
    ASSERT_EQ(h != nullptr, model.count(key) == 1) << step;
    if (h == nullptr) {
      holds.add(key, 9, static_cast<std::uint32_t>(step));
      model[key] = {key, 9, static_cast<std::uint32_t>(step), 0};
    } else {
      ASSERT_EQ(h->token, model[key].token);
      ASSERT_EQ(h->again, model[key].again);
      if (random() % 4 == 0) {
        ++h->again;
        ++model[key].again;
      } else {
        holds.remove(h);
        model.erase(key);
      }
    }
    ASSERT_EQ(holds.none(), model.empty());
  }
  for (const auto& [key, hold] : model) {
    ASSERT_NE(holds.find(key), nullptr);
    holds.remove(holds.find(key));
  }
  EXPECT_TRUE(holds.none());
}

// Rows of gaps, also around the table's end, must neither hide an entry nor fill the table.
TEST_F(HoldsTest, ATableThatIsFilledAndEmptiedForEver) {
  std::mt19937 random(2);
  std::map<std::uint64_t, std::uint32_t> model;
  for (std::uint64_t k = 1; k <= 4; ++k)
    holds.add(k * 56, 9, 0);
  for (std::uint32_t step = 1; step < 300'000; ++step) {
    const bool grows = step % 1000 < 500;
    const std::uint64_t key = (100 + random() % 120) * 56;
    HoldRecord* const h = holds.find(key);
    ASSERT_EQ(h != nullptr, model.count(key) == 1) << step;
    if (h == nullptr) {
      if (random() % 4 != 0 || grows) {
        ASSERT_TRUE(holds.add(key, 9, step));
        model[key] = step;
      }
    } else if (!grows || random() % 4 == 0) {
      ASSERT_EQ(h->token, model[key]);
      holds.remove(h);
      model.erase(key);
    }
  }
}

TEST_F(HoldsTest, StaleEntriesAreForgotten) {
  for (std::uint64_t k = 1; k <= 6; ++k)
    holds.add(k * 56, k, 0);
  holds.forget_if([](const HoldRecord& h) { return h.key == 56 || h.stamp == 3; });
  EXPECT_EQ(holds.find(56), nullptr);
  EXPECT_EQ(holds.find(3 * 56), nullptr);
  for (std::uint64_t k : {2, 4, 5, 6})
    EXPECT_NE(holds.find(k * 56), nullptr) << k;
}

// A signal handler's holds go into the table that the interrupted code looks at, but do not move
// it.
TEST_F(HoldsTest, ATableThatIsLookedAtStaysWhereItIs) {
  const Holds<Native>::Use use(holds);
  for (std::uint64_t k = 1; k <= 200; ++k)
    holds.add(k * 56, 9, 7);
  HoldRecord* in_table = holds.find(100 * 56);
  ASSERT_NE(in_table, nullptr);
  {
    const Holds<Native>::Use by_the_handler(holds);
    for (std::uint64_t k = 1001; k <= 3000; ++k)
      holds.add(k * 56, 9, 8);
    ASSERT_NE(holds.find(1001 * 56), nullptr) << "there was room for this one";
    EXPECT_EQ(holds.find(3000 * 56), nullptr) << "and none for this one";
    EXPECT_EQ(holds.find(100 * 56), in_table);
    for (std::uint64_t k = 1001; k <= 3000; ++k) {
      if (HoldRecord* h = holds.find(k * 56)) holds.remove(h);
    }
  }
  EXPECT_EQ(holds.find(100 * 56), in_table);
  EXPECT_EQ(in_table->token, 7u);
  for (std::uint64_t k = 1001; k <= 3000; ++k)
    holds.add(k * 56, 9, 8);
  EXPECT_NE(holds.find(3000 * 56), nullptr) << "it may grow again";
}

// Keeps what is to run at the thread's end.
struct Exiting : Native {
  static inline void (*hook)() = nullptr;
  static bool on_thread_exit(void (*h)()) {
    hook = h;
    return true;
  }
};

TEST(HoldsAtThreadExit, TheTableIsGivenBackAndMayBeNeededAgain) {
  auto& holds = Exiting::local<Holds<Exiting>>();
  for (int round = 0; round < 2; ++round) {
    Exiting::hook = nullptr;
    for (std::uint64_t k = 1; k <= 300; ++k)
      holds.add(k * 56, 1, 0);
    ASSERT_NE(Exiting::hook, nullptr) << "the table was not made anew";
    for (std::uint64_t k = 1; k <= 300; ++k) {
      ASSERT_NE(holds.find(k * 56), nullptr) << k;
      holds.remove(holds.find(k * 56));
    }
    EXPECT_TRUE(holds.none());
    Exiting::hook();  // also when nothing is left to give back
    Exiting::hook();
  }
}

TEST(HoldsAtThreadExit, WhatIsHeldIsKeptForLaterDestructors) {
  auto& holds = Exiting::local<Holds<Exiting>>();
  for (std::uint64_t k = 1; k <= 300; ++k)
    holds.add(k * 56, 1, 0);
  Exiting::hook();
  for (std::uint64_t k = 1; k <= 300; ++k) {
    ASSERT_NE(holds.find(k * 56), nullptr) << k;
    holds.remove(holds.find(k * 56));
  }
  Exiting::hook();
  EXPECT_TRUE(holds.none());
}

}  // namespace
}  // namespace lockswap::holds_test
