// Blocks beside locks: who gets which, when its object is copied, destroyed, or made anew.
#include "platform/blocks.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "locks/rw/direct.h"
#include "locks/rw/events.h"
#include "locks/rw/outlined.h"
#include "locks/rw/per-cpu.h"
#include "locks/rw/recursive.h"
#include "platform/native.h"
#include "wait/park.h"

namespace lockswap {
namespace {

struct alignas(128) Head {
  NativeAtomic<std::uint32_t> link;
  NativeAtomic<std::uint64_t> owner;
};
struct alignas(128) Part {
  std::uint64_t mark;
};
using Lock = Outlined<Native, Head, Part>;
constexpr std::uint32_t kParts = 3;
bool always(Head&) { return true; }
bool never(Head&) { return false; }

class BlocksTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ThreadExit::prepare();
    ASSERT_TRUE(Lock::Blocks::prepare(kParts));
  }
};

TEST_F(BlocksTest, ALockHasOneBlockWithAllItsParts) {
  Lock a, b;
  EXPECT_EQ(a.peek(), nullptr);
  Head& head = a.head();
  EXPECT_EQ(&a.head(), &head);
  EXPECT_NE(&b.head(), &head);
  for (std::uint32_t i = 0; i < kParts; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&Lock::part(head, i)) % 128, 0u);
    Lock::part(head, i).mark = 10 + i;
  }
  for (std::uint32_t i = 0; i < kParts; ++i) {
    EXPECT_EQ(Lock::part(head, i).mark, 10 + i);
    EXPECT_EQ(Lock::part(b.head(), i).mark, 0u);
    Lock::part(head, i).mark = 0;
  }
  a.close(always);
  b.close(always);
}

TEST_F(BlocksTest, ThousandsDoNotOverlap) {
  std::vector<Lock> locks(10'000);
  for (std::size_t i = 0; i < locks.size(); ++i) {
    for (std::uint32_t p = 0; p < kParts; ++p)
      Lock::part(locks[i].head(), p).mark = i;
  }
  for (std::size_t i = 0; i < locks.size(); ++i) {
    for (std::uint32_t p = 0; p < kParts; ++p) {
      ASSERT_EQ(Lock::part(locks[i].head(), p).mark, i);
      Lock::part(locks[i].head(), p).mark = 0;
    }
    locks[i].close(always);
  }
}

TEST_F(BlocksTest, ThreadsThatComeFirstAtOnceGetTheSame) {
  for (int round = 0; round < 200; ++round) {
    Lock lock;
    std::array<Head*, 4> got{};
    std::vector<std::thread> threads;
    for (auto& g : got)
      threads.emplace_back([&lock, &g] { g = &lock.head(); });
    for (auto& t : threads)
      t.join();
    for (Head* g : got)
      EXPECT_EQ(g, got[0]);
    lock.close(always);
  }
}

TEST_F(BlocksTest, ACopyGetsABlockOfItsOwn) {
  Lock lock;
  Head& head = lock.head();
  alignas(Lock) std::byte bytes[sizeof(Lock)];
  std::memcpy(bytes, &lock, sizeof lock);
  Lock& copy = *reinterpret_cast<Lock*>(bytes);
  // A copy that is destroyed before it was used takes nothing with it.
  Lock& unused = *reinterpret_cast<Lock*>(bytes);
  unused.close(always);
  EXPECT_EQ(&lock.head(), &head);
  std::memcpy(bytes, &lock, sizeof lock);
  EXPECT_NE(&copy.head(), &head);
  EXPECT_EQ(&lock.head(), &head);
  copy.close(always);
  EXPECT_EQ(&lock.head(), &head);
  lock.close(always);
}

TEST_F(BlocksTest, DestroyedOrMadeAnewALockGivesItsBlockBack) {
  Lock lock;
  std::set<Head*> used;
  for (int i = 0; i < 1000; ++i) {
    used.insert(&lock.head());
    lock.close(always);
    used.insert(&lock.head());
    lock.close_old(always);  // as pthread_rwlock_init does before it zeroes
  }
  EXPECT_LE(used.size(), 2u);
}

TEST_F(BlocksTest, ABlockThatIsInUseIsNobodyElses) {
  Lock lock;
  Head* const held = &lock.head();
  lock.close(never);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(&lock.head(), held);
    lock.close(always);
  }
}

TEST_F(BlocksTest, BytesThatWereNeverALockAreNoBlock) {
  Lock lock;
  Head& head = lock.head();
  for (std::uint64_t garbage :
       {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0x1234567890abcdef},
        reinterpret_cast<std::uintptr_t>(&head) + 8,
        reinterpret_cast<std::uintptr_t>(&head) + (std::uint64_t{1} << 32),
        reinterpret_cast<std::uintptr_t>(&head)}) {
    alignas(Lock) std::byte bytes[sizeof(Lock)];
    std::memcpy(bytes, &garbage, sizeof garbage);
    reinterpret_cast<Lock*>(bytes)->close_old(always);
    EXPECT_EQ(&lock.head(), &head);
  }
  lock.close(always);
}

// --- the same through a lock that has one

using Contract =
    Recursive<Native, Park<Native>, Direct<Native, PerCpu<Native, Park<Native>>, CountNothing>,
              CountNothing>;

class PerCpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ThreadExit::prepare();
    ASSERT_TRUE(Contract::prepare());
  }
};

TEST_F(PerCpuTest, ACopyOfAnUnlockedLockIsALockOfItsOwn) {
  using Frame = Contract::Frame;
  Frame lock;
  Contract::adopt(lock);
  ASSERT_EQ(Contract::write_lock(lock), 0);
  Contract::write_unlock(lock);
  alignas(Frame) std::byte bytes[sizeof(Frame)];
  std::memcpy(bytes, static_cast<const void*>(&lock), sizeof lock);
  auto& copy = *reinterpret_cast<Frame*>(bytes);
  ASSERT_EQ(Contract::write_lock(lock), 0);
  EXPECT_EQ(Contract::write_lock(copy, {.only_try = true}), 0);
  EXPECT_EQ(Contract::unlock(copy), 0);
  EXPECT_EQ(Contract::unlock(lock), 0);
  Contract::destroy(copy);
  Contract::destroy(lock);
}

// A reader that goes to another CPU releases where it acquired.
TEST_F(PerCpuTest, AReaderMayMove) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "needs two CPUs";
  Contract::Frame lock;
  Contract::adopt(lock);
  for (int round = 0; round < 2; ++round) {
    int wanted = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      if (++wanted == 1) {
        const std::uint32_t rest = Contract::read_fast(lock);
        ASSERT_TRUE(rest == 0 || Contract::read_rest(lock, rest, nullptr) == 0);
      } else if (wanted == 2) {
        EXPECT_EQ(Contract::write_lock(lock, {.only_try = true}), EBUSY);
        EXPECT_EQ(Contract::unlock(lock), 0);
        EXPECT_EQ(Contract::write_lock(lock, {.only_try = true}), 0);
        EXPECT_EQ(Contract::unlock(lock), 0);
      }
    }
  }
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_TRUE(lock.core.idle());
  Contract::destroy(lock);
}

}  // namespace
}  // namespace lockswap
