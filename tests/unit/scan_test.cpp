#include "platform/scan.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "platform/native.h"

namespace lockswap::scan_test {
namespace {

constexpr std::size_t kSlots = 256;
alignas(64) Slot table[kSlots];

class ScanTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    prepare_scan();
    vector_scan_usable = GetParam();
    for (Slot& s : table)
      s.store(0, relaxed);
  }
  static std::set<std::size_t> hits(std::uint64_t key) {
    std::set<std::size_t> found;
    Native::scan(table, kSlots, key, [&](std::size_t i) {
      found.insert(i);
      return true;
    });
    return found;
  }
};

TEST_P(ScanTest, FindsTheKeyInEverySlot) {
  for (std::size_t i = 0; i < kSlots; ++i) {
    table[i].store(0x1000, relaxed);
    EXPECT_EQ(hits(0x1000), std::set<std::size_t>{i});
    table[i].store(0, relaxed);
  }
  EXPECT_TRUE(hits(0x1000).empty());
}

TEST_P(ScanTest, FindsAllAndOnlyThoseOfTheKeyWhateverTheLowBit) {
  std::set<std::size_t> mine;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const bool is_mine = i % 7 == 0 || i % 16 == 15;
    table[i].store(is_mine ? 0x1000 | (i & 1) : 0x2000 + 8 * i, relaxed);
    if (is_mine) mine.insert(i);
  }
  EXPECT_EQ(hits(0x1000), mine);
}

TEST_P(ScanTest, StopsWhenTold) {
  for (Slot& s : table)
    s.store(0x1000, relaxed);
  int calls = 0;
  EXPECT_FALSE(Native::scan(table, kSlots, 0x1000, [&](std::size_t) { return ++calls < 3; }));
  EXPECT_EQ(calls, 3);
}

// The forms that this processor has.
std::vector<bool> forms() {
  prepare_scan();
  return vector_scan_usable ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

INSTANTIATE_TEST_SUITE_P(Forms, ScanTest, testing::ValuesIn(forms()),
                         [](const auto& form) { return form.param ? "vector" : "scalar"; });

}  // namespace
}  // namespace lockswap::scan_test
