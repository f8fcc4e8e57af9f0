// Who pays for the order between sections and commits (src/rlu/section_fence.h), as the word says
// that inlined sections look at.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "lockswap/rlu.hpp"
#include "membarrier_filter.h"

namespace {

namespace rlu = lockswap::rlu;

struct Pair {
  std::uint64_t first = 0, second = 0;
};

bool sections_have_fences() {
  const auto* word = static_cast<const std::uint32_t*>(lockswap_rlu_process_1.fence);
  return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0;
}
void add_one(Pair* pair) {
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    Pair* mine = pair;
    if (!here.lock(mine)) return std::nullopt;
    ++mine->first;
    ++mine->second;
    return true;
  });
}
bool is_whole(Pair* pair) {
  const rlu::section here;
  const Pair* seen = here.read(pair);
  return seen->first == seen->second;
}
// Some 64 commits without a pause in between. Where this thread often loses its processor it takes
// more tries.
bool begins(Pair* pair) {
  for (int i = 0; i < 10'000'000; ++i) {
    if (sections_have_fences()) return true;  // asked once: soon they may have none again
    add_one(pair);
  }
  return false;
}
// No commit for longer than fences are kept, and enough sections that one looks.
bool ends(Pair* pair) {
  usleep(200'000);
  for (int i = 0; i < 5000; ++i)
    is_whole(pair);
  return !sections_have_fences();
}

TEST(RluFence, ManyCommitsHaveSectionsPay) {
  Pair* const pair = rlu::make<Pair>();
  EXPECT_TRUE(begins(pair));
  EXPECT_TRUE(is_whole(pair));
  rlu::discard(pair);
}

TEST(RluFence, SectionsFindThatCommitsHaveStopped) {
  Pair* const pair = rlu::make<Pair>();
  ASSERT_TRUE(begins(pair));
  EXPECT_TRUE(ends(pair));
  EXPECT_TRUE(begins(pair));  // and back
  rlu::discard(pair);
}

TEST(RluFence, SectionsAreWholeMeanwhile) {
  Pair* const pair = rlu::make<Pair>();
  std::atomic<bool> over{false};
  std::atomic<int> torn{0};
  std::thread reader([&] {
    while (!over)
      torn += is_whole(pair) ? 0 : 1;
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(begins(pair));
    EXPECT_TRUE(ends(pair));
  }
  over = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  rlu::discard(pair);
}

// Each commit would visit all processors.
TEST(RluFence, SectionsPayForGoodWhereBarriersAreRefused) {
  const pid_t child = fork();
  if (child == 0) {
    Pair* const pair = rlu::make<Pair>();
    // The fences of an earlier test would end by time.
    if (sections_have_fences() && !ends(pair)) _exit(3);
    add_one(pair);
    if (!lockswap::forbid_membarrier(-1)) _exit(2);
    _exit(begins(pair) && !ends(pair) && is_whole(pair) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
