// Processors that are read again while the program runs.
#include "platform/rereading.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "platform/adaptive/spins.h"
#include "platform/cancel.h"
#include "platform/native.h"
#include "platform/process.h"
#include "platform/processors.h"
#include "wait/park.h"

namespace lockswap::rereading_test {
namespace {

constexpr std::uint32_t kMost = 200;
constexpr Processors kTwo{.allowed = 2};

// What the system is going to say.
Processors said;
unsigned asked;
Processors again(const Processors& /*last*/) noexcept {
  ++asked;
  return said;
}

class RereadingTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::stamp();
    said = kTwo;
    asked = 0;
    Spins::prepare(kMost, kTwo);
    Rereading::prepare(again, kTwo);
  }
  void TearDown() override {
    Rereading::prepare(nullptr, {});
    Spins::prepare(0, {});
  }
  static void sleeps(std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i)
      Rereading::before_sleep();
  }
};

TEST_F(RereadingTest, OnceInSoManySleeps) {
  sleeps(Rereading::kEvery - 1);
  EXPECT_EQ(asked, 0u);
  sleeps(1);
  EXPECT_EQ(asked, 1u);
  sleeps(9 * Rereading::kEvery);
  EXPECT_EQ(asked, 10u);
}

TEST_F(RereadingTest, SpinsFollow) {
  EXPECT_EQ(Spins::most(), kMost);
  said = {.allowed = 8, .quota_percent = 50};
  sleeps(Rereading::kEvery);
  EXPECT_EQ(Spins::most(), 0u);
  Processors now;
  ASSERT_TRUE(Rereading::known(now));
  EXPECT_EQ(now, said);
  said = kTwo;
  sleeps(Rereading::kEvery);
  EXPECT_EQ(Spins::most(), kMost);
}

TEST_F(RereadingTest, NothingIsReadWhereNothingIsToBe) {
  Rereading::prepare(nullptr, kTwo);
  sleeps(3 * Rereading::kEvery);
  EXPECT_EQ(asked, 0u);
}

TEST_F(RereadingTest, ThreadsThatSleepCount) {
  NativeAtomic<std::uint32_t> word{1};
  Deadline past{};
  past.at.tv_nsec = 1;
  for (std::uint32_t i = 0; i < Rereading::kEvery; ++i)
    Native::park(word, 1, 1, &past);
  EXPECT_EQ(asked, 1u);
  CancellableSleep sleep;
  for (std::uint32_t i = 0; i < Rereading::kEvery; ++i)
    sleep.park(word, 1, 1, &past);
  EXPECT_EQ(asked, 2u) << "those that wait for a condition";
}

// Reads until a test lets it go on.
pthread_barrier_t midst, end;
Processors slow(const Processors& last) noexcept {
  pthread_barrier_wait(&midst);
  pthread_barrier_wait(&end);
  return last;
}
// A thread that has begun to.
std::thread read_slowly() {
  pthread_barrier_init(&midst, nullptr, 2);
  pthread_barrier_init(&end, nullptr, 2);
  Rereading::prepare(slow, kTwo);
  std::thread reader([] {
    for (std::uint32_t i = 0; i < Rereading::kEvery; ++i)
      Rereading::before_sleep();
  });
  pthread_barrier_wait(&midst);
  return reader;
}

// What is known while another thread reads is what it finds, or nothing.
TEST_F(RereadingTest, KnownInTheMidst) {
  std::thread reader = read_slowly();
  Processors now;
  EXPECT_FALSE(Rereading::known(now)) << "the reader is stopped";
  pthread_barrier_wait(&end);
  reader.join();
  EXPECT_TRUE(Rereading::known(now));
  EXPECT_EQ(now, kTwo);
}

// One thread that reads is stopped in the midst; others go by, and so does a child.
TEST_F(RereadingTest, OneThreadAtATime) {
  std::thread reader = read_slowly();
  sleeps(Rereading::kEvery);  // else this would hang
  const pid_t child = ::fork();
  if (child == 0) {
    Process::stamp();
    Rereading::prepare(again, kTwo);
    sleeps(Rereading::kEvery);
    _exit(asked == 1 ? 0 : 1);  // the reader is not here
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pthread_barrier_wait(&end);
  reader.join();
}

// --- affinity

void bind_to(const cpu_set_t& set) { ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0); }

class AffinityTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sched_getaffinity(0, sizeof all_, &all_), 0);
    if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "there is one processor";
    CPU_ZERO(&first_);
    CPU_ZERO(&second_);
    for (int cpu = 0; CPU_COUNT(&second_) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all_)) CPU_SET(cpu, CPU_COUNT(&first_) == 0 ? &first_ : &second_);
    }
  }
  void TearDown() override { bind_to(all_); }
  static std::uint32_t after(std::uint32_t n, Affinity& affinity) {
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < n; ++i)
      found = affinity.together(777);
    return found;
  }
  cpu_set_t all_, first_, second_;
};

TEST_F(AffinityTest, ItIsNoticedWhenItIsNarrowedAndWidened) {
  Affinity affinity;
  const auto all = static_cast<std::uint32_t>(CPU_COUNT(&all_));
  EXPECT_EQ(affinity.alone(1), all);
  bind_to(first_);
  EXPECT_EQ(after(Affinity::kWindow, affinity), 1u);
  bind_to(all_);
  EXPECT_EQ(after(1, affinity), all);
  bind_to(second_);
  EXPECT_EQ(after(2 * Affinity::kWindow, affinity), 1u);
}

TEST_F(AffinityTest, ThreadsBoundToOneEachHaveTwoTogether) {
  bind_to(first_);
  Affinity affinity;
  EXPECT_EQ(affinity.alone(777), 1u);
  std::thread other([&] {
    bind_to(second_);
    affinity.together(777);
  });
  other.join();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(after(Affinity::kWindow - 1, affinity), 2u);
    std::thread([&] {
      bind_to(second_);
      affinity.together(777);
    }).join();
  }
  EXPECT_EQ(after(2 * Affinity::kWindow, affinity), 1u);
}

}  // namespace
}  // namespace lockswap::rereading_test
