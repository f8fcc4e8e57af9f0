// Pools and epochs by themselves, with real threads.
#include "reclaim/pools.h"

#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "platform/libc_watch.h"
#include "platform/native.h"

namespace lockswap {
namespace {

// A type a test, so that each has pools of its own.
template <int kTest>
struct TestNode {
  TestNode* below = nullptr;
  TestNode* batch = nullptr;
  bool is_pinned = false;
  bool pinned() const noexcept { return is_pinned; }
};

template <int kTest, std::uint32_t kN = 4>
using PoolsOf = Pools<Native, TestNode<kTest>, kN>;

class PoolsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ThreadExit::prepare(&watched_by_libc); }
};

// Another thread, which walks until end() is called and exists until this object ends.
template <class P>
class Walking {
 public:
  Walking() { await(kWalks); }
  ~Walking() {
    phase_ = kMayExit;
    thread_.join();
  }
  void end() {
    phase_ = kMayEnd;
    await(kEnded);
  }

 private:
  enum Phase { kBegins, kWalks, kMayEnd, kEnded, kMayExit };

  void await(Phase phase) const {
    while (phase_ < phase)
      std::this_thread::yield();
  }
  void walk() {
    const typename P::Lease its;
    P::epochs().begin(*its.get());
    phase_ = kWalks;
    await(kMayEnd);
    P::epochs().end(*its.get());
    Phase seen = kMayEnd;
    phase_.compare_exchange_strong(seen, kEnded);
    await(kMayExit);
  }

  std::atomic<Phase> phase_{kBegins};
  std::thread thread_{[this] { walk(); }};
};

// Takes until the last of `n` retirements must have become ready, if it can.
template <class P>
std::set<void*> cycle(typename P::Supply& me, int n) {
  std::set<void*> seen;
  for (int i = 0; i < n; ++i) {
    auto* node = P::take(me);
    seen.insert(node);
    P::retire(me, node);
  }
  return seen;
}

TEST_F(PoolsTest, NodesAreUsedAgainWhenNobodyWalks) {
  using P = PoolsOf<1>;
  const P::Lease lease;
  EXPECT_EQ(P::counts().nodes, 4u);
  EXPECT_EQ(cycle<P>(*lease.get(), 1000).size(), 4u);
  EXPECT_EQ(P::counts().nodes, 4u) << "in a steady state nothing is mapped";
  EXPECT_EQ(P::counts().growths, 0u);
}

TEST_F(PoolsTest, WhatIsGivenBackUnseenComesNext) {
  using P = PoolsOf<2>;
  const P::Lease lease;
  auto* a = P::take(*lease.get());
  P::give(*lease.get(), a);
  EXPECT_EQ(P::take(*lease.get()), a);
}

TEST_F(PoolsTest, UnderAWalkNothingIsUsedAgainAndTheAllocatorDoesNotWait) {
  using P = PoolsOf<3>;
  const P::Lease lease;
  Walking<P> walker;
  EXPECT_EQ(cycle<P>(*lease.get(), 100).size(), 100u);
  const PoolCounts during = P::counts();
  EXPECT_GE(during.nodes, 100u);
  EXPECT_GT(during.blocked, 0u) << "growth behind a walk is told";
  walker.end();
  cycle<P>(*lease.get(), 1000);
  EXPECT_EQ(P::counts().blocked, during.blocked);
  EXPECT_LE(P::counts().nodes, during.nodes + 4);
}

TEST_F(PoolsTest, AWalkThatBeginsLaterIsNotWaitedFor) {
  using P = PoolsOf<4>;
  const P::Lease lease;
  auto period = P::epochs().close();
  Walking<P> walker;
  EXPECT_TRUE(P::epochs().is_over(period, *lease.get()));
  auto next = P::epochs().close();
  EXPECT_FALSE(P::epochs().is_over(next, *lease.get()));
  walker.end();
  EXPECT_TRUE(P::epochs().is_over(next, *lease.get()));
}

TEST_F(PoolsTest, APinnedNodeIsKept) {
  using P = PoolsOf<5>;
  const P::Lease lease;
  auto* pinned = P::take(*lease.get());
  pinned->is_pinned = true;
  P::retire(*lease.get(), pinned);
  EXPECT_EQ(cycle<P>(*lease.get(), 100).count(pinned), 0u);
  pinned->is_pinned = false;
  EXPECT_EQ(cycle<P>(*lease.get(), 100).count(pinned), 1u);
}

TEST_F(PoolsTest, AThreadThatTakesOutMoreThanItPutsInHandsNodesOn) {
  using P = PoolsOf<6>;
  const P::Lease lease;
  std::vector<TestNode<6>*> nodes;
  for (int i = 0; i < 400; ++i)
    nodes.push_back(P::take(*lease.get()));
  std::thread([&] {
    const P::Lease its;
    for (auto* n : nodes)
      P::retire(*its.get(), n);
    cycle<P>(*its.get(), 1000);
  }).join();
  const std::uint64_t before = P::counts().nodes;
  for (int i = 0; i < 300; ++i)
    P::take(*lease.get());
  EXPECT_EQ(P::counts().nodes, before) << "they come from what the other thread had too many of";
}

TEST_F(PoolsTest, WhatIsTakenOutIsUsedAgainWhereOnesOwnNodesAlwaysComeBack) {
  using P = PoolsOf<9>;
  const P::Lease lease;
  constexpr int kRounds = 1000;
  for (int i = 0; i < kRounds; ++i) {
    auto* own = P::take(*lease.get());
    auto* others = new TestNode<9>;  // as another thread's, which takes a new one each time
    P::retire(*lease.get(), others);
    P::give(*lease.get(), own);
  }
  const std::uint64_t mapped = P::counts().nodes;
  std::thread([&] {
    const P::Lease its;
    for (int i = 0; i < kRounds / 2; ++i)
      P::take(*its.get());
  }).join();
  EXPECT_EQ(P::counts().nodes, mapped + 4) << "its first four; the rest was handed on";
}

TEST_F(PoolsTest, AWalkThatLastsIsNotLookedAtAgainAtEachTake) {
  using P = PoolsOf<10>;
  const P::Lease lease;
  Walking<P> walker;
  for (int i = 0; i < 100; ++i) {
    auto* own = P::take(*lease.get());
    P::retire(*lease.get(), new TestNode<10>);
    P::give(*lease.get(), own);
  }
  EXPECT_EQ(P::counts().nodes, 8u) << "nothing is mapped while some are ready";
  EXPECT_GT(lease.get()->enough, 50u);
  walker.end();
}

TEST_F(PoolsTest, AThreadsSupplyGoesToTheNext) {
  using P = PoolsOf<7>;
  std::set<void*> supplies;
  for (int i = 0; i < 50; ++i) {
    std::thread([&] {
      const P::Lease lease;
      supplies.insert(lease.get());
      cycle<P>(*lease.get(), 10);
    }).join();
  }
  EXPECT_EQ(supplies.size(), 1u);
  EXPECT_EQ(P::counts().nodes, 4u);
}

TEST_F(PoolsTest, AChildTakesOverTheSuppliesOfThreadsThatAreGone) {
  using P = PoolsOf<8>;
  const P::Lease lease;
  Walking<P> walker;
  const pid_t child = fork();
  if (child == 0) {
    Process::forked();
    P::forked();
    bool good = cycle<P>(*lease.get(), 1000).size() <= 8;  // the ghost's walk is over
    std::thread([&] {
      const P::Lease its;
      good = good && P::counts().supplies == 2 && its.get() != lease.get();
    }).join();
    _exit(good ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lockswap
