#include "locks/rw/disputed.h"

#include <gtest/gtest.h>

#include "platform/native.h"

namespace lockswap {
namespace {

TEST(Disputed, KnowsWhatWasInsertedAndNothingElse) {
  Disputed<Native, 256> set;
  EXPECT_FALSE(set.any());
  EXPECT_FALSE(set.names(7));
  set.insert(7);
  set.insert(7);
  EXPECT_TRUE(set.any());
  EXPECT_TRUE(set.names(7));
  EXPECT_FALSE(set.names(8));
}

TEST(Disputed, AFullSetKeepsWhatItHasAndNamesNothingElse) {
  Disputed<Native, 64> set;
  for (std::uint32_t life = 1; life <= 200; ++life)
    set.insert(life);
  int known = 0;
  for (std::uint32_t life = 1; life <= 200; ++life)
    known += set.names(life) ? 1 : 0;
  EXPECT_GT(known, 32);
  EXPECT_LE(known, 64);
  EXPECT_FALSE(set.names(1000));
}

}  // namespace
}  // namespace lockswap
