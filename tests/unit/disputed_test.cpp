#include "locks/rw/disputed.h"

#include <gtest/gtest.h>

#include "platform/native.h"

namespace lockswap {
namespace {

TEST(Disputed, KnowsWhatWasInsertedAndNothingElse) {
  Disputed<Native, 256> set;
  EXPECT_FALSE(set.any());
  EXPECT_FALSE(set.contains(0x1000));
  set.insert(0x1000);
  set.insert(0x1000);
  EXPECT_TRUE(set.any());
  EXPECT_TRUE(set.contains(0x1000));
  EXPECT_TRUE(set.names(0x1000));
  EXPECT_FALSE(set.contains(0x1038));
}

TEST(Disputed, AFullSetDisputesEverythingButNamesOnlyItsOwn) {
  Disputed<Native, 64> set;
  for (std::uint64_t i = 1; i <= 200; ++i)
    set.insert(i * 56);
  for (std::uint64_t i = 1; i <= 200; ++i)
    EXPECT_TRUE(set.contains(i * 56)) << i;
  EXPECT_TRUE(set.contains(0xdead0000));
  EXPECT_FALSE(set.names(0xdead0000));
}

}  // namespace
}  // namespace lockswap
