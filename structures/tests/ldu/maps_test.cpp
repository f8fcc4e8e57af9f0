// The reverse maps that ldubench compares: each finds what is mapped, with one thread and with
// several; so nobody is measured who is wrong. And the traces of processes that are replayed.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "ldu/chain.h"
#include "ldu/deferred_index.h"
#include "ldu/harris_index.h"
#include "ldu/interval_tree.h"
#include "ldu/locked_index.h"
#include "ldu/process_trace.h"
#include "ldu/rcu_index.h"
#include "ldu/urcu_nodes.h"

namespace {

using namespace bench;

using FileLock = RwLock<LockClass::file>;
template <class Structure, Logs kLogs>
using Deferred = DeferredIndex<Structure, FileLock, kLogs>;

template <class Index>
class ReverseMap : public testing::Test {};
using Maps =
    testing::Types<LockedIndex<IntervalTree, FileLock>, LockedIndex<Chain, Mutex<LockClass::file>>,
                   Deferred<IntervalTree, Logs::of_threads>, Deferred<Chain, Logs::own>,
                   Deferred<IntervalTree, Logs::stamped>, RcuIndex<LockClass::file>,
                   HarrisIndex<true, UrcuNodes>, HarrisIndex<false, UrcuNodes>>;
TYPED_TEST_SUITE(ReverseMap, Maps);

constexpr std::uint32_t kPages = 64;

template <class Index>
typename Index::Mapping* make(std::mt19937& random) {
  auto* m = new typename Index::Mapping;
  m->pages.first = random() % kPages;
  m->pages.last = m->pages.first + random() % (kPages - m->pages.first);
  return m;
}

TYPED_TEST(ReverseMap, FindsWhatIsMapped) {
  std::mt19937 random(1);
  typename TypeParam::Shared shared;
  {
    TypeParam index(shared);
    typename TypeParam::Hand hand(shared);
    std::vector<typename TypeParam::Mapping*> there;
    for (int step = 0; step < 3000; ++step) {
      if (there.empty() || (random() % 5 < 3 && there.size() < 60)) {
        there.push_back(make<TypeParam>(random));
        index.insert(hand, *there.back());
      } else {
        std::swap(there[random() % there.size()], there.back());
        index.retire(hand, *there.back());
        there.pop_back();
      }
      if (step % 5 != 0) continue;
      const std::uint32_t page = random() % kPages;
      std::uint64_t expected = 0;
      for (const auto* m : there)
        expected += m->pages.has(page) ? 1 : 0;
      ASSERT_EQ(index.walk(hand, page), expected) << "step " << step;
    }
    for (auto* m : there)
      index.retire(hand, *m);
    for (std::uint32_t page = 0; page < kPages; ++page)
      EXPECT_EQ(index.walk(hand, page), 0U);
  }
  TypeParam::flush(shared);
}

// Each thread has pages of its own, so it knows what a look there must find.
TYPED_TEST(ReverseMap, FindsItBesideOthers) {
  typename TypeParam::Shared shared;
  {
    TypeParam index(shared);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        typename TypeParam::Hand hand(shared);
        std::vector<typename TypeParam::Mapping*> mine;
        for (int step = 0; step < 3000; ++step) {
          if (mine.size() < 3 || (random() % 2 == 0 && mine.size() < 20)) {
            mine.push_back(new typename TypeParam::Mapping);
            mine.back()->pages = {t, t};
            index.insert(hand, *mine.back());
          } else {
            std::swap(mine[random() % mine.size()], mine.back());
            index.retire(hand, *mine.back());
            mine.pop_back();
          }
          if (random() % 8 == 0 && index.walk(hand, t) != mine.size()) ++wrong;
        }
        for (auto* m : mine)
          index.retire(hand, *m);
        if (index.walk(hand, t) != 0) ++wrong;
      });
    }
    for (auto& t : threads)
      t.join();
    EXPECT_EQ(wrong, 0);
  }
  TypeParam::flush(shared);
}

ProcessTrace read(const std::string& text) {
  std::string name = "/tmp/lockswap-proctrace-XXXXXX";
  close(mkstemp(name.data()));
  std::ofstream(name) << text;
  try {
    ProcessTrace t = read_process_trace(name);
    unlink(name.c_str());
    return t;
  } catch (ProcessTraceError& error) {
    unlink(name.c_str());
    error.why = error.why.substr(name.size());
    throw;
  }
}

const std::string kHead = "lockswap-process-trace 1\n# a program\nfiles 2\nprocesses 2\n";

TEST(ProcessTrace, IsRead) {
  const ProcessTrace t = read(
      kHead + "start 0\nmap 0 0 1 5 3\nfork 0 1\nunmap 1 1\nexec 0\nmap 0 2 0 0 1\nend 1\nend 0\n");
  ASSERT_EQ(t.steps.size(), 8U);
  EXPECT_EQ(t.mappings, 3U);
  EXPECT_EQ(t.steps[1].pages.first, 5U);
  EXPECT_EQ(t.steps[1].pages.last, 7U);
  EXPECT_EQ(t.steps[2].kind, ProcessStep::Kind::fork);
  EXPECT_EQ(t.steps[2].number, 1U);
}

TEST(ProcessTrace, IsRefusedWithItsLine) {
  const std::pair<std::string, std::string> wrong[] = {
      {"", ": the file is empty"},
      {"x\n", ":1: this is no trace of processes: 'lockswap-process-trace 1' is missing"},
      {kHead, ": it has no step"},
      {kHead + "start 2\n", ":5: '2': processes go from 0 to 1"},
      {kHead + "start 0\nstart 0\n", ":6: process 0 runs already"},
      {kHead + "map 0 0 0 0 1\n", ":5: process 0 does not run"},
      {kHead + "start 0\nmap 0 1 0 0 1\n", ":6: the next mapping is number 0"},
      {kHead + "start 0\nmap 0 0 0 0 0\n", ":6: a mapping has at least one page"},
      {kHead + "start 0\nunmap 0 0\n", ":6: process 0 has no such mapping"},
      {kHead + "start 0 1\n", ":5: '1' is too much"},
      {kHead + "start x\n", ":5: 'x' is no number of processes"},
      {kHead + "stop 0\n", ":5: 'stop' is no step"},
      {kHead + "start 0\n", ": it ends before all processes have ended"},
  };
  for (const auto& [text, why] : wrong) {
    try {
      read(text);
      ADD_FAILURE() << "read: " << text;
    } catch (const ProcessTraceError& error) {
      EXPECT_EQ(error.why, why);
    }
  }
}

}  // namespace
