// How many lines move for each acquisition, from the shipped sources. These are exact: what a lock
// claims about its traffic fails here if a word moves to another line.
#include <gtest/gtest.h>

#include "predict/workload.h"

namespace lockswap::predict {
namespace {

// Two nodes of 18 cores, without hardware threads that share one.
cost::Costs two_sockets() {
  constexpr int kCores = 36;
  cost::Costs c;
  for (int i = 0; i < kCores; ++i)
    c.place.push_back({i, i / 18});
  c.transfer.resize(kCores * kCores);
  for (int from = 0; from < kCores; ++from) {
    for (int to = 0; to < kCores; ++to)
      c.transfer[static_cast<std::size_t>(from * kCores + to)] = from / 18 == to / 18 ? 44 : 118;
  }
  return c;
}

struct Traffic {
  double node = 0, remote = 0, memory = 0;  // an acquisition with its release
  Outcome outcome;
  double all() const { return node + remote + memory; }
};

Traffic traffic(const char* name, bool is_mutex, Workload workload, int threads, double ns = 20e6) {
  static const NamedLocks locks = all_locks();
  for (const NamedLock& l : locks) {
    if (l.name != name || l.kind != (is_mutex ? "mutex" : "rwlock") || l.parks) continue;
    const Outcome o = run(two_sockets(), l, workload, threads, ns);
    const auto n = static_cast<double>(o.reads + o.writes);
    EXPECT_GT(n, 0);
    return {static_cast<double>(o.counts.transfers[0]) / n,
            static_cast<double>(o.counts.transfers[1]) / n,
            static_cast<double>(o.counts.transfers[2]) / n, o};
  }
  ADD_FAILURE() << "no lock " << name;
  return {};
}

constexpr Workload kReads{.write_share = 0, .inside = 50, .outside = 400, .varies = true};
constexpr Workload kWrites{.write_share = 1, .inside = 50, .outside = 400, .varies = true};

TEST(Counts, OneThreadMovesNothing) {
  for (const NamedLock& l : all_locks()) {
    if (l.parks || (l.kind != "mutex" && l.kind != "rwlock")) continue;
    for (const Workload& w : {kReads, kWrites}) {
      if (&w == &kReads && l.kind == "mutex") continue;
      EXPECT_EQ(traffic(l.name.c_str(), l.kind == "mutex", w, 1, 1e6).all(), 0) << l.name;
    }
  }
}

// Readers that announce themselves on lines of their own move none.
TEST(Counts, ReadersOnLinesOfTheirOwnMoveNothing) {
  for (const char* name : {"per-cpu", "rlu", "rlu-asym"})
    EXPECT_EQ(traffic(name, false, kReads, 36).all(), 0) << name;
}

// A fast read of BRAVO is a store to the slot of the thread, unless two slots share a line.
TEST(Counts, BravosFastReadMovesHardlyAnything) {
  for (const char* name : {"bravo-ba", "bravo-pf-t", "bravo-asym-ba"})
    EXPECT_LT(traffic(name, false, kReads, 36, 50e6).all(), 0.5) << name;
  EXPECT_LT(traffic("bravo-asym-ba", false, kReads, 36, 50e6).all(), 0.01);
}

// Its readers update the indicator of their node, so nothing crosses.
TEST(Counts, CohortReadersStayInTheirNode) {
  const Traffic t = traffic("cohort", false, kReads, 36);
  EXPECT_EQ(t.remote, 0);
  EXPECT_GT(t.node, 1);
}

// An acquisition looks at the line, updates it, and a release updates it again. Each of these may
// find that another thread has had it meanwhile.
TEST(Counts, ReadersOfOneWordMoveItUpToThreeTimes) {
  for (const char* name : {"pf-t", "ba"}) {
    const Traffic t = traffic(name, false, kReads, 36);
    EXPECT_GT(t.all(), 1.9) << name;
    EXPECT_LT(t.all(), 3.3) << name;
  }
}

// A cohort lock passes the lock on in its node, so it and the data cross seldom. A plain queue's
// cross half the time.
TEST(Counts, ACohortMutexStaysInItsNode) {
  const Traffic cohort = traffic("cohort", true, kWrites, 36),
                plain = traffic("mcs", true, kWrites, 36);
  EXPECT_LT(cohort.remote, plain.remote / 5);
}

// The words that all waiters poll are read again by each of them after each release.
TEST(Counts, ATicketLocksTrafficGrowsWithItsWaiters) {
  Workload busy = kWrites;
  busy.outside = 0;
  const double few = traffic("ticket", true, busy, 4).all(),
               many = traffic("ticket", true, busy, 32).all();
  EXPECT_GT(many, 4 * few);
  EXPECT_LT(traffic("mcs", true, busy, 32).all(), 1.5 * traffic("mcs", true, busy, 4).all());
}

}  // namespace
}  // namespace lockswap::predict
