// Lists of free pieces that go between threads in batches. Also built under ThreadSanitizer, which
// sees the lists themselves here.
#include "platform/batches.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

namespace lockswap {
namespace {

// Each test has lists of its own: those of one size belong together.
template <std::size_t bytes>
using Lists = Batches<bytes, false>;

template <class L>
std::vector<void*> taken(std::size_t count) {
  std::vector<void*> pieces;
  for (std::size_t i = 0; i < count; ++i)
    pieces.push_back(L::take());
  return pieces;
}
template <class L>
void give_all(const std::vector<void*>& pieces) {
  for (void* p : pieces)
    L::give(p);
}
std::vector<void*> sorted(std::vector<void*> pieces) {
  std::ranges::sort(pieces);
  return pieces;
}

TEST(Batches, PiecesAreApartAndComeBack) {
  using L = Lists<48>;
  const auto first = sorted(taken<L>(L::kBatch));
  EXPECT_EQ(L::kept(), 0u);
  for (std::size_t i = 1; i < first.size(); ++i)
    EXPECT_GE(static_cast<std::byte*>(first[i]) - static_cast<std::byte*>(first[i - 1]), 48);
  give_all<L>(first);
  EXPECT_EQ(L::kept(), L::kBatch);
  EXPECT_EQ(sorted(taken<L>(L::kBatch)), first) << "no memory is new while some is free";
  give_all<L>(first);
}

TEST(Batches, AThreadKeepsTwoAtMost) {
  using L = Lists<80>;
  const auto pieces = taken<L>(std::size_t{10} * L::kBatch);
  for (void* p : pieces) {
    L::give(p);
    ASSERT_LE(L::kept(), 2 * L::kBatch);
  }
  // What it did not keep is there for all, itself too.
  EXPECT_EQ(sorted(taken<L>(pieces.size())), sorted(pieces));
  give_all<L>(pieces);
}

TEST(Batches, WhatAnotherThreadGivesIsThereForAll) {
  using L = Lists<112>;
  std::vector<void*> pieces;
  std::thread([&] { pieces = taken<L>(std::size_t{4} * L::kBatch); }).join();
  give_all<L>(pieces);  // this thread took none of them
  std::vector<void*> again;
  std::thread([&] {
    again = taken<L>(std::size_t{2} * L::kBatch);
    give_all<L>(again);
  }).join();
  const auto known = sorted(pieces);
  for (void* p : again)
    EXPECT_TRUE(std::ranges::binary_search(known, p));
}

TEST(Batches, AThreadThatEndsLeavesItsList) {
  using L = Lists<144>;
  std::vector<void*> theirs;
  for (const std::size_t count : {std::size_t{1}, std::size_t{L::kBatch}, std::size_t{100}}) {
    std::thread([&] {
      theirs = taken<L>(count);
      give_all<L>(theirs);
    }).join();
  }
  // The last one's list, of more than a batch, is all that there is.
  const std::size_t all = std::size_t{2} * L::kBatch;
  const auto mine = sorted(taken<L>(all));
  for (void* p : theirs)
    EXPECT_TRUE(std::ranges::binary_search(mine, p));
  EXPECT_EQ(L::kept(), 0u);
  give_all<L>(mine);
}

// One that only gives has no list before; it too leaves it.
TEST(Batches, AThreadThatOnlyGivesLeavesItsList) {
  using L = Lists<176>;
  const auto pieces = taken<L>(L::kBatch);
  std::thread([&] { give_all<L>(pieces); }).join();
  EXPECT_EQ(L::kept(), 0u);
  EXPECT_EQ(sorted(taken<L>(L::kBatch)), sorted(pieces));
  give_all<L>(pieces);
}

TEST(Batches, AChildHasItsOwn) {
  using L = Lists<208>;
  auto* mine = static_cast<std::uint64_t*>(L::take());
  *mine = 7;
  const std::uint32_t before = L::kept();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool is_right = L::kept() == before && *mine == 7;
    auto pieces = taken<L>(std::size_t{5} * L::kBatch);
    is_right = is_right && std::ranges::find(pieces, static_cast<void*>(mine)) == pieces.end();
    for (void* p : pieces)
      *static_cast<std::uint64_t*>(p) = 8;
    is_right = is_right && *mine == 7;
    give_all<L>(pieces);
    _exit(is_right && L::kept() <= 2 * L::kBatch ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(L::kept(), before) << "what a child takes is not taken here";
  EXPECT_EQ(*mine, 7u);
  L::give(mine);
}

// Threads that take, and give what others took. A piece that two had at a time would lose its mark,
// and ThreadSanitizer reports memory that goes from thread to thread without order.
TEST(Batches, NoPieceIsTwosAtATime) {
  using L = Lists<240>;
  constexpr int kThreads = 4;
  constexpr int kRounds = 400;
  std::mutex lock;
  std::vector<std::uint64_t*> between;  // under the lock
  std::atomic<int> wrong{0};
  const auto work = [&](std::uint64_t number) {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::uint64_t*> own;
      for (int i = 0; i < 150; ++i) {
        own.push_back(static_cast<std::uint64_t*>(L::take()));
        own.back()[0] = own.back()[5] = number;
      }
      for (const auto* p : own)
        wrong += p[0] == number && p[5] == number ? 0 : 1;
      const std::lock_guard<std::mutex> held(lock);
      between.swap(own);
      for (auto* p : own)
        L::give(p);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i)
    threads.emplace_back(work, i + 1);
  for (auto& t : threads)
    t.join();
  for (auto* p : between)
    L::give(p);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lockswap
