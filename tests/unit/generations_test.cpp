#include "posix/generations.h"

#include <gtest/gtest.h>

#include "platform/native.h"

namespace lockswap::generations_test {
namespace {

TEST(Generations, KnowWhatIsDisputedAndNothingElse) {
  Generations<Native, 1000, 256> generations;
  EXPECT_FALSE(generations.any_disputed());
  EXPECT_FALSE(generations.is_disputed(7));
  generations.dispute(7);
  generations.dispute(7);
  EXPECT_TRUE(generations.any_disputed());
  EXPECT_TRUE(generations.is_disputed(7));
  EXPECT_FALSE(generations.is_disputed(8));
}

TEST(Generations, AFullSetKeepsWhatItHasAndNamesNothingElse) {
  Generations<Native, 1000, 64> generations;
  for (std::uint32_t number = 1; number <= 200; ++number)
    generations.dispute(number);
  int known = 0;
  for (std::uint32_t number = 1; number <= 200; ++number)
    known += generations.is_disputed(number) ? 1 : 0;
  EXPECT_GT(known, 32);
  EXPECT_LE(known, 64);
  EXPECT_FALSE(generations.is_disputed(1000));
}

TEST(Generations, NumbersComeRoundWithoutTheDisputedOnes) {
  Generations<Native, 5, 256> generations;
  for (std::uint32_t number = 1; number <= 5; ++number)
    EXPECT_EQ(generations.begin().number, number);
  generations.dispute(1);
  generations.dispute(4);
  for (int round = 0; round < 3; ++round) {
    for (const std::uint32_t number : {2u, 3u, 5u}) {
      const Generation next = generations.begin();
      EXPECT_EQ(next.number, number);
      EXPECT_TRUE(next.trusted);
    }
  }
}

TEST(Generations, OfAShareLeaveItsRemainderAndStayInRange) {
  Generations<Native, 100, 64> generations;
  for (int n = 0; n < 40; ++n) {
    const std::uint32_t mine = 1 + static_cast<std::uint32_t>(n) % 15;
    const Generation g = generations.begin({16, mine});
    EXPECT_EQ(g.number % 16, mine);
    EXPECT_GE(g.number, 1u);
    EXPECT_LE(g.number, 100u);
  }
  Generations<Native, 100, 64> alone;
  EXPECT_EQ(alone.begin({16, 3}).number, 3u);
  EXPECT_EQ(alone.begin({16, 3}).number, 19u);
}

TEST(Generations, AreNotTrustedWhenTheyComeRoundAndMoreAreDisputedThanTheSetHolds) {
  Generations<Native, 100, 64> generations;
  for (int n = 0; n < 99; ++n)
    EXPECT_TRUE(generations.begin().trusted);
  for (std::uint32_t number = 1; number <= 99; ++number)
    generations.dispute(number);
  EXPECT_TRUE(generations.begin().trusted) << "the first with that number";
  const Generation again = generations.begin();
  EXPECT_FALSE(again.trusted);
  EXPECT_FALSE(generations.is_disputed(again.number));
}

}  // namespace
}  // namespace lockswap::generations_test
