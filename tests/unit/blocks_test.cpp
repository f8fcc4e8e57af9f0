// Blocks beside locks: which lock gets which when its object is copied, destroyed or made anew.
#include "platform/blocks.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>

#include "locks/common/events.h"
#include "locks/common/side_block.h"
#include "locks/mutex/cohort.h"
#include "locks/mutex/per-cpu.h"
#include "locks/rw/per-cpu.h"
#include "locks/rw/unbiased.h"
#include "platform/memory.h"
#include "platform/native.h"
#include "platform/process.h"
#include "posix/mutex_contract.h"
#include "posix/rw_contract.h"
#include "wait/park.h"

namespace lockswap::blocks_test {
namespace {

struct alignas(128) Head {
  NativeAtomic<std::uint32_t> link;
  NativeAtomic<std::uint64_t> owner;
};
struct alignas(128) Part {
  std::uint64_t mark;
};
struct Idle {  // true for every block but one
  static inline Head* but_for = nullptr;
  static bool is_idle(Head& h) { return &h != but_for; }
};
template <class H>
struct OtherIdle {
  static bool is_idle(H&) { return true; }
};
using Lock = SideBlock<Native, Idle, Head, Part>;
constexpr std::uint32_t kParts = 3;
bool always(Head&) { return true; }
bool never(Head&) { return false; }

template <class L>
std::array<std::byte, sizeof(L)> bytes_of(const L& lock) {
  std::array<std::byte, sizeof(L)> bytes;
  std::memcpy(bytes.data(), static_cast<const void*>(&lock), sizeof lock);
  return bytes;
}

class BlocksTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(Lock::Blocks::prepare(kParts)); }
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
    lock.close(always);
  }
  EXPECT_LE(used.size(), 2u);
}

// Holders come to it by the object.
TEST_F(BlocksTest, ALockThatIsDestroyedInUseKeepsItsBlock) {
  Lock lock, other;
  Head* const held = &lock.head();
  lock.close(never);
  EXPECT_EQ(lock.peek(), held);
  EXPECT_EQ(&lock.held(), held);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(&other.head(), held);
    other.close(always);
  }
  lock.close(always);
  EXPECT_EQ(lock.peek(), nullptr);
}

// Bytes of a process that wrote them to a file, as far as they differ from this one's.
TEST_F(BlocksTest, NoPointerOfAnotherProcessIsFollowed) {
  using Sealed = SideBlock<Native, Idle, Head, Part, KnownBy::seal>;
  struct Bytes {
    std::uint64_t block, seal;
  };
  static_assert(sizeof(Bytes) == sizeof(Sealed));
  Sealed mine;
  Head& head = mine.head();
  const Bytes known = std::bit_cast<Bytes>(bytes_of(mine));
  for (const Bytes found :
       {Bytes{0x1234567890a0, known.seal + (std::uint64_t{1} << 40)}, Bytes{~std::uint64_t{0}, 0},
        Bytes{0x40, 1}, Bytes{known.block + 64, ~known.seal}, known}) {
    Sealed lock;
    std::memcpy(static_cast<void*>(&lock), &found, sizeof found);
    lock.forget_strange();
    std::memcpy(static_cast<void*>(&lock), &found, sizeof found);
    EXPECT_EQ(lock.peek(), nullptr);
    EXPECT_EQ(lock.find(), nullptr);
    lock.close(always);
    std::memcpy(static_cast<void*>(&lock), &found, sizeof found);
    Head& its = lock.head();
    EXPECT_NE(&its, &head);
    EXPECT_EQ(lock.peek(), &its);
    lock.close(always);
  }
  EXPECT_EQ(&mine.head(), &head);
  mine.close(always);
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
    reinterpret_cast<Lock*>(bytes)->close(always);
    EXPECT_EQ(&lock.head(), &head);
  }
  lock.close(always);
}

// --- locks that just end

// As many as there are blocks before the first sweep, and some.
constexpr int kMany = 10'000;

// A type of blocks of which no other test has left some free.
template <class OwnHead>
using OwnBlocks = SideBlock<Native, OtherIdle<OwnHead>, OwnHead, Part>;

template <class L>
void forget(L& lock) {
  std::memset(static_cast<void*>(&lock), 0, sizeof lock);
}

TEST_F(BlocksTest, LocksThatJustEndLeaveTheirBlocksToOthers) {
  struct alignas(128) OwnHead : Head {};
  using Own = OwnBlocks<OwnHead>;
  ASSERT_TRUE(Own::Blocks::prepare(kParts));
  Own lock;
  std::set<OwnHead*> used;
  for (int i = 0; i < 10 * kMany; ++i) {
    used.insert(&lock.head());
    forget(lock);
  }
  EXPECT_LE(used.size(), 2u * kMany);
}

TEST_F(BlocksTest, NoBlockIsTakenFromALockThatIsThere) {
  std::vector<Lock> locks(kMany);
  std::vector<Head*> heads;
  for (Lock& lock : locks)
    heads.push_back(&lock.head());
  Lock passing;
  for (int i = 0; i < 4 * kMany; ++i) {  // two searches or more
    passing.head();
    forget(passing);
  }
  for (std::size_t i = 0; i < locks.size(); ++i) {
    EXPECT_EQ(&locks[i].head(), heads[i]);
    locks[i].close(always);
  }
}

TEST_F(BlocksTest, NoBlockIsTakenInWhichSomebodyIs) {
  Lock lock, passing;
  Head* const held = Idle::but_for = &lock.head();
  forget(lock);
  for (int i = 0; i < 4 * kMany; ++i) {
    EXPECT_NE(&passing.head(), held);
    forget(passing);
  }
  Idle::but_for = nullptr;
}

TEST_F(BlocksTest, MemoryThatIsGoneIsNotTouched) {
  struct alignas(128) OwnHead : Head {};
  using Own = OwnBlocks<OwnHead>;
  ASSERT_TRUE(Own::Blocks::prepare(kParts));
  const std::size_t bytes = kMany * sizeof(Own);
  std::set<OwnHead*> used;
  for (int round = 0; round < 6; ++round) {
    auto* locks = static_cast<Own*>(map_pages(bytes));
    ASSERT_NE(locks, nullptr);
    for (int i = 0; i < kMany; ++i)
      used.insert(&locks[i].head());
    unmap_pages(locks, bytes);
  }
  EXPECT_LE(used.size(), 4u * kMany);
}

// A collector closes pages for a while.
TEST_F(BlocksTest, NoBlockIsTakenFromALockThatCannotBeReadNow) {
  const std::size_t bytes = kMany * sizeof(Lock);
  auto* locks = static_cast<Lock*>(map_pages(bytes));
  ASSERT_NE(locks, nullptr);
  std::vector<Head*> heads;
  for (int i = 0; i < kMany; ++i)
    heads.push_back(&locks[i].head());
  ASSERT_EQ(mprotect(locks, bytes, PROT_NONE), 0);
  Lock passing;
  for (int i = 0; i < 4 * kMany; ++i) {
    passing.head();
    forget(passing);
  }
  ASSERT_EQ(mprotect(locks, bytes, PROT_READ | PROT_WRITE), 0);
  for (int i = 0; i < kMany; ++i) {
    EXPECT_EQ(&locks[i].head(), heads[static_cast<std::size_t>(i)]);
    locks[i].close(always);
  }
  unmap_pages(locks, bytes);
}

// Where no memory is to be had, lost blocks are looked for though there are few.
TEST_F(BlocksTest, AShortageOfMemoryFindsTheBlocksOfLocksThatEnded) {
  struct alignas(128) OtherHead : Head {};
  using Others = OwnBlocks<OtherHead>;
  ASSERT_TRUE(Others::Blocks::prepare(kParts));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit none{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &none), 0);
  Others passing;
  std::array<OtherHead*, 1000> heads;
  for (auto& head : heads) {
    head = &passing.head();
    forget(passing);
  }
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  const std::set<OtherHead*> used(heads.begin(), heads.end());
  EXPECT_LT(used.size(), 1000u);
}

// Threads that come to locks of their own, while others sweep.
TEST_F(BlocksTest, LocksAreUsedWhileOthersAreAskedAbout) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong] {
      Lock stays, passes;
      Head* const mine = &stays.head();
      for (int i = 0; i < 5 * kMany; ++i) {
        passes.head();
        forget(passes);
        if (&stays.head() != mine) ++wrong;
      }
      stays.close(always);
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(wrong.load(), 0);
}

// --- the same through a lock that has one

using Contract =
    RwContract<Native, Park<Native>, Unbiased<Native, PerCpu<Native, Park<Native>>, CountNothing>,
               CountNothing>;

class PerCpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(Contract::prepare()); }
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
  EXPECT_EQ(Contract::slow_unlock(copy), 0);
  EXPECT_EQ(Contract::slow_unlock(lock), 0);
  Contract::destroy(copy);
  Contract::destroy(lock);
}

// The block of a mutex that was copied from may have gone to a third one.
template <class Core>
void expect_copies_leave_others_alone() {
  using OfMutex = MutexContract<Native, Core, CountNothing>;
  using Frame = typename OfMutex::Frame;
  ASSERT_TRUE(OfMutex::prepare());
  Frame first, third;
  OfMutex::adopt(first);
  ASSERT_EQ(OfMutex::lock(first), 0);
  ASSERT_EQ(OfMutex::unlock(first), 0);
  alignas(Frame) std::byte bytes[sizeof(Frame)];
  std::memcpy(bytes, static_cast<const void*>(&first), sizeof first);
  auto& copy = *reinterpret_cast<Frame*>(bytes);
  ASSERT_EQ(OfMutex::destroy(first), 0);
  OfMutex::adopt(third);
  ASSERT_EQ(OfMutex::lock(third), 0);
  EXPECT_EQ(OfMutex::unlock(copy), 0);  // of a mutex that nobody holds
  EXPECT_EQ(OfMutex::try_lock(third), EBUSY);
  EXPECT_EQ(OfMutex::destroy(copy), 0);
  EXPECT_EQ(OfMutex::try_lock(third), EBUSY);
  EXPECT_EQ(OfMutex::unlock(third), 0);
  EXPECT_EQ(OfMutex::destroy(third), 0);
}
TEST_F(BlocksTest, ACopyOfAMutexLeavesOthersAlone) {
  expect_copies_leave_others_alone<PerCpuMutex<Native, Park<Native>>>();
  expect_copies_leave_others_alone<CohortMutex<Native, Park<Native>>>();
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
        const std::uint64_t rest = Contract::fast_read(lock);
        ASSERT_TRUE(rest == 0 || Contract::slow_read(lock, rest, nullptr) == 0);
      } else if (wanted == 2) {
        EXPECT_EQ(Contract::write_lock(lock, {.only_try = true}), EBUSY);
        EXPECT_EQ(Contract::slow_unlock(lock), 0);
        EXPECT_EQ(Contract::write_lock(lock, {.only_try = true}), 0);
        EXPECT_EQ(Contract::slow_unlock(lock), 0);
      }
    }
  }
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_TRUE(lock.core.idle());
  Contract::destroy(lock);
}

}  // namespace
}  // namespace lockswap::blocks_test
