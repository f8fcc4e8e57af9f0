#include <gtest/gtest.h>

#include "platform/native.h"
#include "posix/generations.h"

namespace lockswap {
namespace {

TEST(Generations, KnowWhatIsDisputedAndNothingElse) {
  Generations<Native, 1000, 256> lives;
  EXPECT_FALSE(lives.any_disputed());
  EXPECT_FALSE(lives.is_disputed(7));
  lives.dispute(7);
  lives.dispute(7);
  EXPECT_TRUE(lives.any_disputed());
  EXPECT_TRUE(lives.is_disputed(7));
  EXPECT_FALSE(lives.is_disputed(8));
}

TEST(Generations, AFullSetKeepsWhatItHasAndNamesNothingElse) {
  Generations<Native, 1000, 64> lives;
  for (std::uint32_t number = 1; number <= 200; ++number)
    lives.dispute(number);
  int known = 0;
  for (std::uint32_t number = 1; number <= 200; ++number)
    known += lives.is_disputed(number) ? 1 : 0;
  EXPECT_GT(known, 32);
  EXPECT_LE(known, 64);
  EXPECT_FALSE(lives.is_disputed(1000));
}

TEST(Generations, NumbersComeRoundWithoutTheDisputedOnes) {
  Generations<Native, 5, 256> lives;
  for (std::uint32_t number = 1; number <= 5; ++number)
    EXPECT_EQ(lives.begin().number, number);
  lives.dispute(1);
  lives.dispute(4);
  for (int round = 0; round < 3; ++round) {
    for (const std::uint32_t number : {2u, 3u, 5u}) {
      const Generation life = lives.begin();
      EXPECT_EQ(life.number, number);
      EXPECT_TRUE(life.trusted);
    }
  }
}

TEST(Generations, AreNotTrustedWhenTheyComeRoundAndMoreAreDisputedThanTheSetHolds) {
  Generations<Native, 100, 64> lives;
  for (int n = 0; n < 99; ++n)
    EXPECT_TRUE(lives.begin().trusted);
  for (std::uint32_t number = 1; number <= 99; ++number)
    lives.dispute(number);
  EXPECT_TRUE(lives.begin().trusted) << "the first with that number";
  const Generation again = lives.begin();
  EXPECT_FALSE(again.trusted);
  EXPECT_FALSE(lives.is_disputed(again.number));
}

}  // namespace
}  // namespace lockswap
