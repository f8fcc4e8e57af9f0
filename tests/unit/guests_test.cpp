// What a guest does to the contract word of a lock: its hold, and the level, which says how long
// readers that begin to wait now wait at least.
#include "posix/guests.h"

#include <cstdint>
#include <gtest/gtest.h>

#include "locks/common/events.h"
#include "platform/native.h"
#include "posix/rw_word.h"
#include "wait/park.h"

namespace lockswap::guests_test {
namespace {

using ContractWord = RwWord<Native>;
struct GuestsFrame {
  Native::atomic<std::uint64_t> contract{};
  Native::atomic<std::uint32_t> writer{};
};
using TheGuests = Guests<Native, Park<Native>, GuestsFrame, CountNothing>;

// The level after a guest that waited at one level came in at another.
std::uint64_t level_after(std::uint64_t level, std::uint64_t waited_at) {
  GuestsFrame f;
  f.contract.store(ContractWord::kDraining | level << ContractWord::kLevelShift, relaxed);
  EXPECT_TRUE(TheGuests::enter(f, waited_at));
  EXPECT_EQ(ContractWord::extra_in(f.contract.load(relaxed)), 1u);
  return TheGuests::level(f);
}

TEST(Guests, RaiseTheLevelThatTheyWaitedAt) {
  EXPECT_EQ(level_after(0, 0), 1u);
  EXPECT_EQ(level_after(3, 3), 4u);
  EXPECT_EQ(level_after(ContractWord::kMostLevel, ContractWord::kMostLevel),
            ContractWord::kMostLevel);
}
TEST(Guests, OfALowerLevelLeaveItAsItIs) {
  EXPECT_EQ(level_after(1, 0), 1u);
  EXPECT_EQ(level_after(5, 2), 5u);
}
// Else the level of one writer would go on where the last one's ended, and never fall.
TEST(Guests, WhichAWriterHasPassedCountAsThoseOfLevelZero) {
  EXPECT_EQ(level_after(0, 7), 1u);
  EXPECT_EQ(level_after(2, 7), 2u);
}
TEST(Guests, ComeInOnlyWhileAWriterWaitsForReaders) {
  GuestsFrame f;
  EXPECT_FALSE(TheGuests::enter(f, 0));
  EXPECT_EQ(f.contract.load(relaxed), 0u);
}

}  // namespace
}  // namespace lockswap::guests_test
