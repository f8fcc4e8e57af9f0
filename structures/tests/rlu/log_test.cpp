// Write-logs (rlu/write_log.h): where entries and copies of each size lie.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "platform/native.h"
#include "rlu/write_log.h"

namespace lockswap::rlu {
namespace {

struct Owner {};
using Log = WriteLog<Native, Owner>;
constexpr std::size_t kChunk = Native::kLogChunk;

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { log_.clear(); }

  // A copy of that size, all of which is in the log, and which the log's owner is found from.
  void append(std::size_t size) {
    Entry* const e = log_.append(owner_, Kind::copy, &owner_, size);
    ASSERT_NE(e, nullptr);
    auto* const copy = static_cast<std::byte*>(Log::copy_of(e));
    const auto at = reinterpret_cast<std::uintptr_t>(copy);
    EXPECT_EQ(&Log::owner_of(Log::lock_word(e)), &owner_) << size << " bytes";
    ASSERT_TRUE(log_.holds(at + size - 1)) << size << " bytes do not fit where they lie";
    std::memset(copy, static_cast<int>(copies_.size() + 1), size);
    copies_.push_back({copy, size});
  }
  // No copy has got into another one, or into what the log itself keeps.
  void expect_whole() {
    int n = 0;
    for (const Copy& c : copies_) {
      const auto value = static_cast<std::byte>(++n);
      EXPECT_EQ(c.at[0], value);
      EXPECT_EQ(c.at[c.size - 1], value);
      EXPECT_EQ(Log::entry_of_copy(c.at)->object, &owner_);
    }
  }
  void begin_anew() {
    log_.clear();
    copies_.clear();
  }

  struct Copy {
    std::byte* at;
    std::size_t size;
  };
  Owner owner_;
  Log log_;
  std::vector<Copy> copies_;
};

// With chunks that the log has kept from before, and without.
TEST_F(LogTest, CopiesOfAllSizesNearAChunksLieInTheLog) {
  for (std::size_t size = kChunk - 256; size <= kChunk + 64; size += kAlignment / 2) {
    for (int round = 0; round < 2; ++round) {
      append(64);  // the next one needs a chunk of its own
      append(size);
      append(64);
      append(size);
      expect_whole();
      begin_anew();
    }
  }
}

// Small ones fill a chunk to its end.
TEST_F(LogTest, CopiesOfAllSizesFillChunks) {
  for (std::size_t size = 1; size <= 512; size += 7) {
    for (std::size_t bytes = 0; bytes < 3 * kChunk && copies_.size() < 250; bytes += size)
      append(size);
    expect_whole();
    begin_anew();
  }
}

}  // namespace
}  // namespace lockswap::rlu
