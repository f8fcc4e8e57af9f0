// How long threads spin: by what it has brought at that word, and by the processors that are left.
#include "platform/adaptive/spins.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <unistd.h>

#include <sys/wait.h>

#include "platform/process.h"
#include "platform/processors.h"

namespace lockswap::spins_test {
namespace {

constexpr std::uint32_t kMost = 200;
constexpr Processors kTwo{.allowed = 2};

class SpinsTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::stamp();
    Spins::prepare(kMost, kTwo);
    next_word();
    ASSERT_EQ(SpinningThreads::count(), 0u);
  }
  void TearDown() override { Spins::prepare(0, kTwo); }

  // A word of which nothing is known: locks of earlier tests may have had its cell.
  static void next_word() {
    at_ += 8;
    Spins::forget(at_);
  }

  // How many pauses a thread makes that has what it waits for after `needs` of them.
  static std::uint32_t spin(std::uint32_t needs) {
    Spins spins(at_);
    std::uint32_t n = 0;
    while (spins.more()) {
      if (++n < needs) continue;
      spins.succeeded();
      break;
    }
    return n;
  }
  static inline const char* at_ = reinterpret_cast<const char*>(0x1000);
};
constexpr std::uint32_t kNever = ~0u;

TEST_F(SpinsTest, TheFirstOneTriesAll) { EXPECT_EQ(spin(kNever), kMost); }

TEST_F(SpinsTest, WhereItBringsNothingItIsShortButForOneInSoMany) {
  for (int i = 0; i < 200; ++i)
    spin(kNever);
  unsigned all = 0, fewest = 0;
  for (std::uint32_t i = 0; i < 4 * Spins::kTriesAll; ++i) {
    const std::uint32_t n = spin(kNever);
    all += n == kMost;
    fewest += n == Spins::kFewest;
  }
  EXPECT_EQ(all, 4u);
  EXPECT_EQ(fewest, 4 * Spins::kTriesAll - 4);
}

TEST_F(SpinsTest, WhereItBringsSomethingItLastsForTwiceThat) {
  for (int i = 0; i < 400; ++i)
    spin(60);
  EXPECT_NEAR(Spins::mean(at_), 60, 2);
  spin(kNever);
  EXPECT_NEAR(spin(kNever), 2 * 60, 4);
}

TEST_F(SpinsTest, ShortOnesLastAsUsual) {
  for (int i = 0; i < 400; ++i)
    spin(3);
  EXPECT_EQ(spin(kNever), Spins::kUsual);
}

TEST_F(SpinsTest, OneThatSucceedsSeldomIsGivenUp) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 1600; ++i) {
    const std::uint32_t n = spin(i % 32 == 5 ? 60 : kNever);
    if (i >= 800) sum += n;
  }
  EXPECT_LT(sum, 800 * 40u);  // a spin of the whole budget is 200 pauses
}

TEST_F(SpinsTest, WordsLearnByThemselves) {
  for (int i = 0; i < 400; ++i)
    spin(60);
  next_word();
  EXPECT_EQ(Spins::mean(at_), 0u);
}

TEST_F(SpinsTest, NotMoreSpinThanProcessorsAreLeft) {
  Spins first(at_);
  for (std::uint32_t i = 0; i <= Spins::kShort; ++i)
    ASSERT_TRUE(first.more());
  EXPECT_EQ(spin(kNever), Spins::kShort);  // the second, on two processors
  {
    Spins::prepare(kMost, {.allowed = 3});
    next_word();
    EXPECT_EQ(spin(kNever), kMost);
  }
}

TEST_F(SpinsTest, AChildBeginsWithNobody) {
  Spins first(at_);
  for (std::uint32_t i = 0; i <= Spins::kShort; ++i)
    ASSERT_TRUE(first.more());
  const pid_t child = ::fork();
  if (child == 0) {
    Process::stamp();
    next_word();
    _exit(spin(kNever) == kMost ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(SpinsTest, NobodySpinsOnOneProcessor) {
  Spins::prepare(kMost, {.allowed = 1});
  EXPECT_EQ(spin(kNever), 0u);
  Spins::prepare(kMost, {.allowed = 8, .quota_percent = 50});
  EXPECT_EQ(spin(kNever), 0u);
  Spins::prepare(0, kTwo);
  EXPECT_EQ(spin(kNever), 0u);
}

}  // namespace
}  // namespace lockswap::spins_test
