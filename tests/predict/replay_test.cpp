// Replays of made-up records, by what they must come to.
#include "predict/replay.h"

#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "calls/reading.h"
#include "predict/plan.h"
#include "tests/predict/even_machine.h"

namespace lockswap::predict {
namespace {

using calls::Call;
using calls::Chunk;
using calls::RecordedCalls;
using calls::What;

constexpr std::uint64_t kUs = 1000;

// A record with a chunk for each thread, as the library would have written it.
class Made {
 public:
  Made() {
    record_.head.magic = calls::kMagic;
    record_.head.schema = calls::kSchema;
    record_.head.size = sizeof(calls::Record);
  }
  // Calls in microseconds.
  struct In {
    What what;
    std::uint32_t object;
    std::uint64_t at, took = 0;
  };
  void thread(const std::vector<In>& calls) {
    Chunk chunk{};
    chunk.thread = chunks_.size() + 1;
    ASSERT_LE(calls.size(), Chunk::kCalls);
    for (std::size_t i = 0; i < calls.size(); ++i)
      chunk.call[i] =
          Call::of(calls[i].what, calls[i].object, calls[i].at * kUs, calls[i].took * kUs);
    chunks_.push_back(chunk);
  }
  void added(std::uint64_t hold_ns, std::uint64_t think_ns) {
    record_.hold_ns_256 = hold_ns * 256;
    record_.think_ns_256 = think_ns * 256;
  }
  RecordedCalls read() {
    record_.chunks.store(chunks_.size(), relaxed);
    std::string bytes(calls::kFirstChunk + chunks_.size() * sizeof(Chunk), '\0');
    std::memcpy(bytes.data(), static_cast<const void*>(&record_), sizeof record_);
    for (std::size_t i = 0; i < chunks_.size(); ++i)
      std::memcpy(bytes.data() + calls::kFirstChunk + i * sizeof(Chunk), &chunks_[i],
                  sizeof(Chunk));
    char name[] = "/tmp/lockswap-replay-XXXXXX";
    const int fd = ::mkstemp(name);
    EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(fd);
    RecordedCalls calls;
    EXPECT_EQ(calls.read(name), recording::RecordedFile::good);
    std::remove(name);
    return calls;
  }

 private:
  calls::Record record_{};
  std::vector<Chunk> chunks_;
};

// Eight cores of a node, on which nothing is drawn.
cost::Costs node_of_eight() {
  cost::Costs c = even_machine(8, 40);
  c.jitter = c.noise = 0;
  return c;
}

ReplayOutcome replay(const Plan& plan, double pace = 1) {
  static const NamedLocks locks = [] {
    NamedLocks all;
    add_glibcs(all);
    return all;
  }();
  const auto of = [](const char* kind) -> const NamedLock& {
    return *std::find_if(locks.begin(), locks.end(),
                         [kind](const NamedLock& l) { return l.kind == kind; });
  };
  return run(node_of_eight(), plan, {of("rwlock"), of("mutex"), pace});
}
Plan plan_of(Made& made, const Window& window = {}) {
  const RecordedCalls calls = made.read();
  return Planner(calls).plan(window);
}

// Pairs of a lock and its release: holds of `hold`, and `think` before the next.
std::vector<Made::In> pairs(int count, What what, std::uint32_t lock, std::uint64_t hold,
                            std::uint64_t think, std::uint64_t begin = 0) {
  std::vector<Made::In> calls;
  for (int i = 0; i < count; ++i) {
    calls.push_back({what, lock, begin});
    calls.push_back({What::unlock, lock, begin + hold});
    begin += hold + think;
  }
  return calls;
}

TEST(Replay, AThreadWorksAsLongAsItDid) {
  Made made;
  made.thread(pairs(100, What::lock, 1, 2, 5));
  made.thread(pairs(100, What::lock, 2, 2, 5));
  const Plan plan = plan_of(made);
  EXPECT_EQ(plan.threads.size(), 2);
  EXPECT_EQ(plan.is_rwlock, (std::vector<bool>{false, false}));
  const ReplayOutcome o = replay(plan);
  EXPECT_TRUE(o.finished);
  EXPECT_EQ(o.acquisitions, 200);
  constexpr double kWorked = (100 * 2 + 99 * 5) * 1000.0;
  EXPECT_GE(o.ns, kWorked);
  EXPECT_LE(o.ns, kWorked * 1.05);  // and the locks' own time
  EXPECT_LE(replay(plan, 0.5).ns, kWorked * 0.55);
}

TEST(Replay, WhatRecordingAddedIsTakenOff) {
  Made made;
  made.thread(pairs(100, What::lock, 1, 2, 5));
  made.added(500, 1000);
  const ReplayOutcome o = replay(plan_of(made));
  constexpr double kWorked = (100 * 1.5 + 99 * 4) * 1000;
  EXPECT_GE(o.ns, kWorked);
  EXPECT_LE(o.ns, kWorked * 1.05);
}

TEST(Replay, WaitsInLockCallsAreNoWork) {
  Made made;
  std::vector<Made::In> calls;
  for (std::uint64_t i = 0; i < 50; ++i) {
    calls.push_back({What::lock, 1, i * 100, 90});
    calls.push_back({What::unlock, 1, i * 100 + 95});
  }
  made.thread(calls);
  EXPECT_LE(replay(plan_of(made)).ns, 50 * 10 * kUs * 1.05);
}

TEST(Replay, OneLockServesOneThreadAtATime) {
  const auto rate = [](What what, int threads) {
    Made made;
    for (int i = 0; i < threads; ++i)
      made.thread(pairs(200, what, 1, 10, 1));
    const ReplayOutcome o = replay(plan_of(made));
    EXPECT_TRUE(o.finished);
    return static_cast<double>(o.acquisitions) / o.ns * 1e9;
  };
  for (const What what : {What::lock, What::write}) {
    EXPECT_LE(rate(what, 8), 1e5);                  // a hold of 10 us each
    EXPECT_LE(rate(what, 8), rate(what, 1) * 1.1);  // more processors gain nothing
  }
  EXPECT_GE(rate(What::read, 8), rate(What::read, 1) * 6);
}

TEST(Replay, AWaitEndsWithItsSignal) {
  Made made;
  // Waits from 10 to 510. The other thread signals after 500 us of work, and again when nobody
  // waits.
  made.thread({{What::lock, 1, 0},
               {What::unlock, 1, 10},
               {What::wait, 3, 10, 500},
               {What::lock, 1, 510},
               {What::unlock, 1, 520}});
  made.thread({{What::lock, 2, 0},
               {What::unlock, 2, 1},
               {What::signal, 3, 501},
               {What::lock, 2, 700},
               {What::signal, 3, 701},
               {What::unlock, 2, 702}});
  const Plan plan = plan_of(made);
  EXPECT_EQ(plan.signals, 1);
  EXPECT_EQ(plan.timed, 0);
  const ReplayOutcome o = replay(plan, 0.1);  // ten times as fast: it doesn't wait for 500 us
  EXPECT_TRUE(o.finished);
  EXPECT_EQ(o.acquisitions, 4);
  EXPECT_LE(o.ns, 100 * kUs);
  EXPECT_GE(o.ns, 70 * kUs);
}

TEST(Replay, AWaitWithoutASignalTakesAsLongAsItTook) {
  Made made;
  made.thread({{What::lock, 1, 0},
               {What::unlock, 1, 10},
               {What::timed_out, 3, 10, 500},
               {What::lock, 1, 510},
               {What::unlock, 1, 520}});
  const Plan plan = plan_of(made);
  EXPECT_EQ(plan.timed, 1);
  EXPECT_GE(replay(plan, 0.1).ns, 500 * kUs);
}

TEST(Replay, SleepStaysAndWaitsForAProcessorDoNot) {
  Made made;
  made.thread({{What::lock, 1, 0},
               {What::unlock, 1, 1},
               {What::slept, 0, 10, 300},
               {What::preempted, 0, 320, 500},
               {What::lock, 1, 820},
               {What::unlock, 1, 821}});
  const Plan plan = plan_of(made);
  EXPECT_EQ(plan.preempted_ns, 500 * kUs);
  const ReplayOutcome o = replay(plan);
  EXPECT_GE(o.ns, 320 * kUs);
  EXPECT_LE(o.ns, 330 * kUs);
}

TEST(Replay, ALockThatTheThreadHasIsAcquiredOnce) {
  Made made;
  made.thread({{What::unlock, 7, 0},
               {What::lock, 1, 1},
               {What::lock, 1, 2},
               {What::unlock, 1, 3},
               {What::unlock, 1, 4},
               {What::read, 2, 5}});
  made.thread({{What::lock, 1, 50}, {What::unlock, 1, 51}, {What::write, 2, 52}});
  const Plan plan = plan_of(made);
  EXPECT_EQ(plan.acquisitions, 4);
  const ReplayOutcome o = replay(plan);
  EXPECT_TRUE(o.finished);  // what was held at the end is released
  EXPECT_EQ(o.acquisitions, 4);
}

TEST(Replay, ThreadsThatLiveOneAfterAnotherShareAPlace) {
  Made made;
  for (std::uint64_t i = 0; i < 5; ++i)
    made.thread(pairs(10, What::lock, 1, 1, 1, i * 100));
  made.thread(pairs(10, What::lock, 1, 1, 50));
  const Plan plan = plan_of(made);
  EXPECT_EQ(plan.threads.size(), 2);
  EXPECT_EQ(replay(plan).acquisitions, 60);
}

TEST(Replay, WindowsCoverTheRecord) {
  Made made;
  made.thread(pairs(400, What::lock, 1, 1, 1));
  made.thread(pairs(400, What::lock, 2, 1, 1));
  const RecordedCalls calls = made.read();
  const Planner planner(calls);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Plan plan = planner.plan({i, 4, 100});
    EXPECT_NEAR(static_cast<double>(plan.acquisitions), 100, 2) << i;
    EXPECT_NEAR(plan.recorded_ns, 100 * kUs, 3 * kUs) << i;
    EXPECT_EQ(replay(plan).acquisitions, plan.acquisitions);
  }
  EXPECT_EQ(planner.plan({}).acquisitions, 800);
}

TEST(Replay, AWindowHasThreadsThatRanOneAfterAnother) {
  Made made;
  // Two threads on one processor, which has each of them for 100 us at a time.
  for (std::uint64_t thread : {0, 1}) {
    std::vector<Made::In> calls;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t at = i / 20 * 200 + i % 20 * 5 + thread * 100;
      if (i % 20 == 0 && i != 0) calls.push_back({What::preempted, 0, at - 100, 100});
      calls.push_back({What::lock, 1, at});
      calls.push_back({What::unlock, 1, at + 1});
    }
    made.thread(calls);
  }
  const RecordedCalls calls = made.read();
  const Plan plan = Planner(calls).plan({1, 3, 30});
  EXPECT_EQ(plan.threads.size(), 2);
  EXPECT_NEAR(static_cast<double>(plan.acquisitions), 30, 2);
  EXPECT_NEAR(plan.recorded_ns, 15 * 5 * kUs, 20 * kUs);  // of each thread's own time
}

TEST(Replay, ThreadsThatCannotKeepToTheirCallsAreNoticed) {
  Made made;
  // The second thread had the lock 1 first. Where it comes later it waits for the first one, which
  // waits for its signal.
  made.thread({{What::lock, 2, 0},
               {What::lock, 1, 1000},
               {What::unlock, 2, 1001},
               {What::wait, 3, 1002, 998},
               {What::lock, 2, 2000},
               {What::unlock, 1, 2001}});
  made.thread({{What::lock, 1, 500},
               {What::unlock, 1, 501},
               {What::signal, 3, 1500},
               {What::lock, 4, 1501},
               {What::unlock, 4, 1502}});
  const Plan plan = plan_of(made);
  EXPECT_TRUE(replay(plan).finished);
  EXPECT_FALSE(replay(plan, 0.001).finished);  // the second thread's start isn't work
}

TEST(Replay, AnEmptyRecordHasNoPlan) {
  Made made;
  EXPECT_EQ(plan_of(made).acquisitions, 0);
}

}  // namespace
}  // namespace lockswap::predict
