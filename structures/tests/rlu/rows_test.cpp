// The rows of threads (rlu/clock_rows.h): which ones a writer finds, and how many words it reads.
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "platform/native.h"
#include "rlu/clock_rows.h"

namespace lockswap {
namespace {

using Rows = ClockRows<Native>;
using Row = Rows::Row;

class RowsTest : public testing::Test {
 protected:
  Row* claim() {
    return rows_.claim([this] { return made_.emplace_back(std::make_unique<Row>()).get(); });
  }
  std::vector<Row*> claim(std::size_t count) {
    std::vector<Row*> all;
    while (all.size() < count)
      all.push_back(claim());
    return all;
  }
  std::set<Row*> found() const {
    std::set<Row*> all;
    rows_.each_with_thread([&all](Row& row) { EXPECT_TRUE(all.insert(&row).second); });
    return all;
  }
  std::size_t words() const { return rows_.words_with_thread(); }
  std::size_t made() const { return made_.size(); }

 private:
  Rows rows_;
  std::vector<std::unique_ptr<Row>> made_;
};

TEST_F(RowsTest, FewThreadsNeedOneWord) {
  EXPECT_EQ(0u, words());
  claim(64);
  EXPECT_EQ(1u, words());
  Row* const next = claim();
  EXPECT_EQ(3u, words());  // the second group has two
  Rows::abandon(*next);
  EXPECT_EQ(1u, words());
}

TEST_F(RowsTest, ThreadsThatHaveEndedCostNothing) {
  Row* const first = claim();
  for (Row* const row : claim(5000))
    Rows::abandon(*row);
  EXPECT_EQ(1u, words());
  EXPECT_EQ(std::set<Row*>{first}, found());
}

// The last thread that stays is found, whichever group it is in, and then no longer.
TEST_F(RowsTest, OneThatStaysIsFound) {
  const auto all = claim(3000);
  for (const std::size_t stays : {0u, 63u, 64u, 191u, 192u, 500u, 1000u, 2999u}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != stays) Rows::abandon(*all[i]);
    }
    EXPECT_EQ(std::set<Row*>{all[stays]}, found()) << stays;
    Rows::abandon(*all[stays]);
    EXPECT_EQ(1u, words()) << stays;
    const auto again = claim(all.size());
    EXPECT_EQ(all, again) << "threads take the first free rows";
  }
  EXPECT_EQ(all.size(), made());
}

// A thread counts once, so a row may be abandoned again: the child of a fork does so.
TEST_F(RowsTest, AbandonedTwice) {
  const auto all = claim(200);
  Rows::abandon(*all[150]);
  Rows::abandon(*all[150]);
  Rows::abandon(*all[199]);
  EXPECT_EQ(198u, found().size());
  for (Row* const row : all)
    Rows::abandon(*row);
  EXPECT_EQ(1u, words());
}

TEST_F(RowsTest, AsManyAsComeAndGo) {
  std::minstd_rand random(1);
  std::vector<Row*> here;
  for (int step = 0; step < 4000; ++step) {
    const bool grows = step / 1000 % 2 == 0;
    if (here.empty() || random() % 4 < (grows ? 3u : 1u)) {
      here.push_back(claim());
    } else {
      std::swap(here[random() % here.size()], here.back());
      Rows::abandon(*here.back());
      here.pop_back();
    }
    if (step % 50 == 0) {
      EXPECT_EQ(std::set<Row*>(here.begin(), here.end()), found()) << step;
    }
  }
}

}  // namespace
}  // namespace lockswap
