// The asymmetric fence and the locks that use it, also when a filter forbids membarrier midway.
#include "platform/barrier.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "locks/common/events.h"
#include "locks/rw/ba.h"
#include "locks/rw/bravo.h"
#include "locks/rw/rlu.h"
#include "locks/rw/unbiased.h"
#include "membarrier_filter.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "readers/row_slots.h"
#include "wait/park.h"

namespace lockswap::barrier_test {
namespace {

// Runs `body` in a child, since a filter cannot be taken away again; 0 if it returns true.
int in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// `most` rounds, but after two seconds only `least`: on a machine with other work a round, which
// waits for another thread, may last as long as that work's time slice.
class Rounds {
 public:
  explicit Rounds(int most, int least = 50) : most_(most), least_(least) {}
  bool are_left_after(int done) const {
    return done < least_ || (done < most_ && std::chrono::steady_clock::now() < end_);
  }

 private:
  int most_, least_;
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

enum class Pair {
  light_and_heavy,
  none_and_in_all,  // of the two threads' fences
};

// One thread stores and loads with the light fence between, the other with the heavy one; they must
// never both miss the other's store. Returns how often they did.
int both_missed(int most, Pair pair = Pair::light_and_heavy) {
  struct alignas(128) {
    std::atomic<int> stored{0};
    int seen = 0;
  } sides[2];
  constexpr int kOver = -1;
  std::atomic<int> round{0}, done{0};
  std::thread light([&] {
    for (int n = 1;; ++n) {
      int begun;
      for (int spins = 0; (begun = round.load()) != n && begun != kOver; ++spins) {
        if (spins > 1000) std::this_thread::yield();
      }
      if (begun == kOver) return;
      sides[0].stored.store(n, std::memory_order_relaxed);
      if (pair == Pair::light_and_heavy) {
        Barrier::light();
      } else {
        signal_fence();
      }
      sides[0].seen = sides[1].stored.load(std::memory_order_relaxed);
      done.store(n);
    }
  });
  int missed = 0;
  const Rounds rounds(most);
  for (int n = 1; rounds.are_left_after(n - 1); ++n) {
    round.store(n);
    sides[1].stored.store(n, std::memory_order_relaxed);
    if (pair == Pair::light_and_heavy) {
      Barrier::heavy();
    } else {
      Barrier::in_all();
    }
    sides[1].seen = sides[0].stored.load(std::memory_order_relaxed);
    while (done.load() != n)
      std::this_thread::yield();
    missed += sides[0].seen != n && sides[1].seen != n ? 1 : 0;
  }
  round.store(kOver);
  light.join();
  return missed;
}

class BarrierTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Barrier::prepare()) GTEST_SKIP() << "this kernel has no membarrier";
  }
};

TEST_F(BarrierTest, NotBothMissTheOther) {
  EXPECT_EQ(both_missed(3000), 0);
  EXPECT_FALSE(Barrier::is_replaced());
}

TEST_F(BarrierTest, WhereOneSideHasNoFence) {
  EXPECT_EQ(both_missed(3000, Pair::none_and_in_all), 0);
  // Nor when the kernel refuses, and refuses to move the thread.
  for (const int also : {-1, static_cast<int>(SYS_sched_setaffinity)}) {
    EXPECT_EQ(in_child([also] {
                return forbid_membarrier(also) && both_missed(20, Pair::none_and_in_all) == 0 &&
                       !Barrier::is_replaced();
              }),
              0);
  }
}

TEST_F(BarrierTest, AForkedChildHasIt) {
  EXPECT_EQ(in_child([] { return both_missed(300) == 0 && !Barrier::is_replaced(); }), 0);
}

TEST_F(BarrierTest, AFilterThatComesLaterDoesNoHarm) {
  for (const int also : {-1, static_cast<int>(SYS_sched_setaffinity)}) {
    EXPECT_EQ(in_child([also] {
                if (both_missed(100) != 0 || Barrier::is_replaced()) return false;
                return forbid_membarrier(also) && both_missed(1000) == 0 && Barrier::is_replaced();
              }),
              0);
  }
}

// Another thread moves the one that has the processors visited: it stays where it was put.
TEST_F(BarrierTest, TheAffinityOfTheCallerIsLeftAlone) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs two processors";
  const auto stays = [&all] {
    const pid_t visitor = gettid();
    std::atomic<int> visits{0};
    std::atomic<bool> wrong{false};
    // Before the filter. It moves the visitor while that is in the midst of visits.
    std::thread mover([&] {
      for (int cpu = 0; visits.load() < 100; cpu = (cpu + 1) % CPU_SETSIZE) {
        if (!CPU_ISSET(cpu, &all)) continue;
        cpu_set_t one, now;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(visitor, sizeof one, &one) != 0) wrong = true;
        for (const int begun = visits.load(); visits.load() < begun + 2;) {
          if (sched_getaffinity(visitor, sizeof now, &now) != 0 || !CPU_EQUAL(&one, &now))
            wrong = true;
          std::this_thread::yield();
        }
      }
    });
    if (!forbid_membarrier(-1)) wrong = true;
    while (visits.load() < 200) {
      Barrier::in_all();
      ++visits;
    }
    mover.join();
    return !wrong;
  };
  EXPECT_EQ(in_child(stays), 0);
}

// --- the same through locks

using W = Park<Native>;
using OfRlu =
    RwContract<Native, W, Unbiased<Native, RluAsym<Native, W>, CountNothing>, CountNothing>;
using OfBravo =
    RwContract<Native, W, Bravo<Native, W, Ba<Native, W>, CountNothing, RowSlots<Native, W>>,
               CountNothing>;

// Readers read while a writer writes, and a filter comes midway. Returns false if somebody saw half
// a write.
template <class Contract>
bool guards_its_data() {
  typename Contract::Frame lock;
  Contract::adopt(lock);
  long a = 0, b = 0;
  std::atomic<bool> stop{false}, bad{false};
  std::atomic<int> reading{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      for (bool first = true; !stop.load(); first = false) {
        const std::uint64_t rest = Contract::fast_read(lock);
        if (rest != 0 && Contract::slow_read(lock, rest, nullptr) != 0) bad = true;
        if (a != b) bad = true;
        std::uint32_t token = 0;
        if (Contract::has_only_hold(lock, token)) {
          if (Contract::fast_read_unlock(lock, token) != 0) bad = true;
        } else if (Contract::slow_unlock(lock) != 0) {
          bad = true;
        }
        if (first) ++reading;
      }
    });
  }
  while (reading.load() != 3)
    std::this_thread::yield();
  int written = 0;
  const auto write = [&] {
    if (Contract::write_lock(lock) != 0) bad = true;
    ++a;
    ++b;
    ++written;
    Contract::write_unlock(lock);
  };
  for (const Rounds rounds(1000); rounds.are_left_after(written) && !bad;)
    write();
  if (!forbid_membarrier(-1)) bad = true;
  const int before = written;
  for (const Rounds rounds(1000); rounds.are_left_after(written - before) && !bad;)
    write();
  // Under BRAVO a writer has a barrier run only when the lock is biased.
  constexpr std::clock_t kMost = 60 * CLOCKS_PER_SEC;  // of this process's CPU time
  for (const std::clock_t end = std::clock() + kMost; !Barrier::is_replaced() && !bad;) {
    write();
    if (std::clock() > end) bad = true;
  }
  stop = true;
  for (std::thread& reader : readers)
    reader.join();
  return !bad && a == written && lock.core.idle();
}

TEST_F(BarrierTest, LocksSurviveAFilterThatComesLater) {
  ASSERT_TRUE(OfRlu::prepare() && OfBravo::prepare());
  EXPECT_EQ(in_child(guards_its_data<OfRlu>), 0);
  EXPECT_EQ(in_child(guards_its_data<OfBravo>), 0);
}

// A fast reader of before the fork is still there after it, and leaves by its own thread's row.
TEST_F(BarrierTest, AForkedChildKeepsAFastHold) {
  ASSERT_TRUE(OfBravo::prepare());
  OfBravo::Frame lock;
  OfBravo::adopt(lock);
  const auto read = [&] {
    const std::uint64_t rest = OfBravo::fast_read(lock);
    return rest == 0 || OfBravo::slow_read(lock, rest, nullptr) == 0;
  };
  const auto is_fast = [&] { return RowSlots<Native, W>::is_any(lock); };
  for (int i = 0; i < 100 && !is_fast(); ++i) {
    if (i != 0) {
      ASSERT_EQ(OfBravo::slow_unlock(lock), 0);
    }
    ASSERT_TRUE(read());
  }
  ASSERT_TRUE(is_fast());
  const auto checks = [&] {
    OfBravo::adopt(lock);
    if (OfBravo::write_lock(lock, {.only_try = true}) != EBUSY) return false;
    if (OfBravo::slow_unlock(lock) != 0 || is_fast()) return false;
    return OfBravo::write_lock(lock, {.only_try = true}) == 0;
  };
  EXPECT_EQ(in_child(checks), 0);
  EXPECT_TRUE(checks());
}

}  // namespace
}  // namespace lockswap::barrier_test
