// When BRAVO's bias comes back after a write: once threads share the lock, also if they take turns
// and never meet inside. Events are counted, and a revocation counts as taking no time.
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <semaphore>
#include <thread>

#include "locks/common/events.h"
#include "locks/rw/ba.h"
#include "locks/rw/bias_word.h"
#include "locks/rw/bravo.h"
#include "locks/rw/eventual.h"
#include "locks/rw/pf-t.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "wait/park.h"

namespace lockswap::bias_test {
namespace {

using W = Park<Native>;

std::atomic<int> fast_reads;
struct CountFastReads {
  static constexpr bool kCounts = true;
  using Slow = CountFastReads;
  static constexpr bool is_on() noexcept { return true; }
  static void on(const void*, Event event, std::uint64_t n = 1) noexcept {
    if (event == Event::fast_read) fast_reads += static_cast<int>(n);
  }
};

template <class Core>
struct Bias : testing::Test {
  using Lock = Bravo<Native, W, Core, CountFastReads>;
  using Contract = RwContract<Native, W, Lock, CountFastReads>;
  static_assert(Lock::kHasWayBelow);  // a new name in the core must not take it away

  Bias() {
    static constinit ReadersTable<Native>::Slot slots[64] __attribute__((aligned(64)));
    Native::global<ReadersTable<Native>>() = {slots, 63, 9};
    prepare_scan();
    Contract::prepare();
    Contract::adopt(frame);
  }

  bool reads_fast() {
    const int before = fast_reads;
    EXPECT_EQ(0, Contract::read_lock(frame, {}));
    const bool fast = fast_reads != before;
    EXPECT_EQ(0, Contract::slow_unlock(frame));
    return fast;
  }
  void write() {
    EXPECT_EQ(0, Contract::write_lock(frame, {}));
    EXPECT_EQ(0, Contract::slow_unlock(frame));
  }
  // Reads until a read is fast. Returns how many were slow, at most `most`.
  int slow_reads(int most) {
    int n = 0;
    while (n < most && !reads_fast())
      ++n;
    return n;
  }

  typename Contract::Frame frame{};
};

using Cores = testing::Types<PfT<Native, W>, Ba<Native, W>, EventualRw<Native, W>>;
TYPED_TEST_SUITE(Bias, Cores);

// Two threads, of which each waits for the other between two reads.
TYPED_TEST(Bias, ComesBackWhereThreadsTakeTurns) {
  std::binary_semaphore ours{0}, theirs{0};
  std::atomic<bool> stop{false};
  bool other_is_fast = false;
  std::uint32_t tid = 0;
  const auto other_reader = [&] {
    tid = Native::tid();
    ours.release();
    for (theirs.acquire(); !stop; theirs.acquire()) {
      other_is_fast = this->reads_fast();
      ours.release();
    }
  };
  // The lowest two bits of their numbers are the first to be compared.
  std::thread other(other_reader);
  ours.acquire();
  while (((tid ^ Native::tid()) & 3) == 0) {
    stop = true;
    theirs.release();
    other.join();
    stop = false;
    other = std::thread(other_reader);
    ours.acquire();
  }
  const auto slow_reads_in_turn = [&] {
    for (int n = 0; n < 2000; n += 2) {
      if (this->reads_fast()) return n;
      theirs.release();
      ours.acquire();
      if (other_is_fast) return n + 1;
    }
    return 2000;
  };
  EXPECT_LE(slow_reads_in_turn(), 128) << "before the first write";
  for (int round = 0; round < 5; ++round) {
    this->write();
    const int slow = slow_reads_in_turn();
    EXPECT_GT(slow, 0);
    EXPECT_LE(slow, 256) << "round " << round;
  }
  stop = true;
  theirs.release();
  other.join();
}

// The lock of a thread that is alone needs no bias, and perhaps the thread may not read the clock.
TYPED_TEST(Bias, StaysOffWhereAThreadIsAlone) {
  EXPECT_LE(this->slow_reads(1000), 64) << "before the first write";
  this->write();
  EXPECT_EQ(this->slow_reads(5000), 5000);
  std::thread([&] { EXPECT_EQ(this->slow_reads(5000), 5000); }).join();
}

// How many visits, of two threads in turn, show that they are two.
int visits_until_shared(std::uint32_t one, std::uint32_t two) {
  constexpr std::uint64_t kBefore = std::uint64_t{123'456} << 7 | std::uint64_t{5} << 3;
  std::uint64_t word = kBefore;
  for (int n = 1; n <= 100; ++n) {
    word = BiasWord::visited(word, n % 2 != 0 ? one : two);
    EXPECT_EQ(word & (BiasWord::kTime | BiasWord::kInhibitShift), kBefore);
    EXPECT_EQ(word & (BiasWord::kOn | BiasWord::kSlotsInUse | BiasWord::kEnded), 0u);
    EXPECT_FALSE(BiasWord::is_revoked(word));
    if (BiasWord::is_shared(word)) return n;
  }
  return 0;
}

TEST(BiasWord, TellsVisitorsApart) {
  for (const std::uint32_t tid : {0u, 1u, 255u, 1234u, 4'194'303u}) {
    EXPECT_EQ(visits_until_shared(tid, tid), 0) << tid;
    EXPECT_EQ(visits_until_shared(tid, tid ^ 1), 3) << tid;
    EXPECT_EQ(visits_until_shared(tid, tid ^ 4), 4) << tid;
    EXPECT_EQ(visits_until_shared(tid, tid ^ 128), 6) << tid;
    EXPECT_EQ(visits_until_shared(tid, tid + 256), 0) << tid;
  }
}

}  // namespace
}  // namespace lockswap::bias_test
