// Traces: what cannot be read is refused at its line, steps wait for what they must and no more,
// and the check after a replay finds an engine that has something else.
#include <gtest/gtest.h>

#include "../address_space/written_file.h"
#include "address_space/designs/list_pages.h"
#include "address_space/designs/rwlock.h"
#include "address_space/replay.h"
#include "address_space/trace.h"

namespace {

using namespace bench;
using lockswap::address_space::NativeMachine;
using lockswap::address_space::Space;

const char* const kHead = "lockswap-vm-trace 1\nfaults recorded\nthreads 3\nheap 50\n";

Trace trace_of(const std::string& steps) {
  const WrittenFile file(kHead + steps);
  return read_trace(file.name());
}

std::string error_of(const std::string& text) {
  const WrittenFile file(text);
  try {
    read_trace(file.name());
  } catch (const TraceError& error) {
    EXPECT_TRUE(error.what.starts_with(file.name() + ":"));
    return error.what.substr(file.name().size() + 1);
  }
  return "read";
}

TEST(Trace, IsRefusedAtTheLineThatIsWrong) {
  const std::string all = "map 0 100 4 rw-\nmap 1 200 1 r--\nmap 2 300 1 rw-\n";
  const auto wrong = [&](const std::string& line) { return error_of(kHead + all + line + "\n"); };
  EXPECT_EQ(error_of("hello\n"), "1: this is no trace: 'lockswap-vm-trace 1' is missing");
  EXPECT_EQ(error_of(""), " the file is empty");
  EXPECT_EQ(error_of("lockswap-vm-trace 1\n\n# x\nmap 0 1 1 rw-\n"),
            "4: 'threads' and 'heap' come before 'map'");
  EXPECT_EQ(error_of("lockswap-vm-trace 1\nthreads 2\n"), " it ends before its first step");
  EXPECT_EQ(error_of(std::string(kHead) + "map 0 100 4 rw-\n"), " a thread has no step");
  EXPECT_EQ(wrong("jump 0 1"), "8: 'jump' is no step");
  EXPECT_EQ(wrong("map 3 100 1 rw-"), "8: '3' is no number that may stand here");
  EXPECT_EQ(wrong("map 0 100 0 rw-"), "8: '0' is no number that may stand here");
  EXPECT_EQ(wrong("map 0 10g 1 rw-"), "8: '10g' is no number that may stand here");
  EXPECT_EQ(wrong("map 0 -1 1 rw-"), "8: '-1' is no number that may stand here");
  EXPECT_EQ(wrong("map 0 800000000 1 rw-"), "8: '800000000' is no number that may stand here");
  EXPECT_EQ(wrong("map 0 100 1 rwz"), "8: 'rwz' is no protection, such as 'rw-'");
  EXPECT_EQ(wrong("map 0 100 1 rw- open 0 0"), "8: 'open' is not 'private' or 'shared'");
  EXPECT_EQ(wrong("map 0 100 1"), "8: a word is missing at the end");
  EXPECT_EQ(wrong("unmap 0 100 1 rw-"), "8: 'rw-' is too much");
  EXPECT_EQ(wrong("protect 0 103 2 r--"), "8: not all of these pages are mapped");
  EXPECT_EQ(wrong("write 0 103 2"), "8: a page is touched where nothing is mapped, or not so");
  EXPECT_EQ(wrong("write 1 200 1"), "8: a page is touched where nothing is mapped, or not so");
  EXPECT_EQ(wrong("brk 0 4f"), "8: '4f' is no number that may stand here");
  EXPECT_EQ(wrong("begin 0 2"), "8: thread 2 has begun");
  EXPECT_EQ(wrong("there 400 1"), "8: 'there' comes before the first step");
}

TEST(Trace, OfAPackedFileThatIsNone) {
  const WrittenFile file("hello", ".gz");
  EXPECT_THROW(read_trace(file.name()), TraceError);
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> waits(const Trace& t, int thread, int step) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
  for (const Wait& w :
       t.threads[static_cast<std::size_t>(thread)][static_cast<std::size_t>(step)].waits)
    found.emplace_back(w.thread, w.steps);
  std::ranges::sort(found);
  return found;
}
using Waits = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

TEST(Order, AMappingWaitsForTheUnmappingOfItsPages) {
  const Trace t = trace_of("map 0 100 8 rw-\nunmap 0 100 8\nmap 1 104 1 rw-\nmap 2 900 1 rw-\n");
  EXPECT_EQ(waits(t, 1, 0), (Waits{{0, 2}}));
  EXPECT_EQ(waits(t, 2, 0), Waits{});
}
TEST(Order, AnOperationWaitsForItsNeighbours) {
  const Trace t = trace_of("map 0 100 8 rw-\nmap 1 108 1 rw-\nmap 2 10a 1 rw-\n");
  EXPECT_EQ(waits(t, 1, 0), (Waits{{0, 1}}));
  EXPECT_EQ(waits(t, 2, 0), Waits{});
}
TEST(Order, FaultsWaitForOperationsAndTheseForFaults) {
  const Trace t = trace_of(
      "map 0 100 8 rw-\nwrite 1 100 1\nwrite 2 100 1\nwrite 1 101 1\nprotect 0 100 1 r--\n"
      "read 2 100 1\n");
  EXPECT_EQ(waits(t, 1, 0), (Waits{{0, 1}}));
  EXPECT_EQ(waits(t, 2, 0), (Waits{{0, 1}}));          // not for the other fault
  EXPECT_EQ(waits(t, 1, 1), Waits{});                  // that is known
  EXPECT_EQ(waits(t, 0, 1), (Waits{{1, 1}, {2, 1}}));  // nor for the fault beside it
  EXPECT_EQ(waits(t, 2, 1), (Waits{{0, 2}}));
}
TEST(Order, AThreadBeginsAfterItsBeginAndAfterThoseThatHadEnded) {
  const Trace t = trace_of(
      "map 0 100 1 rw-\nbegin 0 1\nmap 1 200 1 rw-\nend 1\nmap 0 300 1 rw-\nbegin 0 2\n"
      "map 2 400 1 rw-\n");
  EXPECT_EQ(waits(t, 1, 0), (Waits{{0, 1}}));
  EXPECT_EQ(waits(t, 2, 0), (Waits{{0, 2}, {1, 1}}));
}
TEST(Order, BrkFollowsBrk) {
  const Trace t = trace_of("brk 0 60\nbrk 1 80\nbrk 0 90\nmap 2 1 1 rw-\n");
  EXPECT_EQ(waits(t, 1, 0), (Waits{{0, 1}}));
  EXPECT_EQ(waits(t, 0, 1), (Waits{{1, 1}}));
}
TEST(Order, ABrkThatMovesNothingHasItsPlace) {
  const Trace t = trace_of("brk 0 60\nbrk 1 60\nbrk 2 58\n");
  EXPECT_EQ(waits(t, 1, 0), (Waits{{0, 1}}));
  EXPECT_EQ(waits(t, 2, 0), (Waits{{0, 1}, {1, 1}}));
}

template <template <class> class Design>
class Replay {
 public:
  using Engine = Space<NativeMachine, Design>;
  explicit Replay(const std::string& steps) : trace_(trace_of(steps)), round_(trace_) {
    Untimed watch;
    std::vector<std::thread> threads;
    traced_.resize(trace_.threads.size());
    for (std::uint32_t i = 0; i < traced_.size(); ++i)
      threads.emplace_back([&, i] { round_.replay(i, watch, traced_[i]); });
    for (auto& t : threads)
      t.join();
  }
  void check() { round_.check(traced_); }
  Engine& engine() { return round_.space(); }
  auto& hand() { return *round_.hands()[0]; }
  std::vector<Traced>& traced() { return traced_; }

 private:
  Trace trace_;
  Round<Engine> round_;
  std::vector<Traced> traced_;
};

const char* const kSteps =
    "map 0 100 8 rw-\nbegin 0 1\nwrite 0 100 2\nwrite 1 102 2\nmap 1 200 4 rw- private 0 7\n"
    "read 1 200 1\nwrite 1 200 1\nbegin 1 2\nmap 2 300 4 rw- shared 1 0\nwrite 2 300 1\nfork 2\n"
    "protect 2 100 2 r--\ndiscard 0 102 1\nbrk 0 58\nwrite 0 50 2\nbrk 0 52\n";

TEST(Replay, FindsNothingWhereNothingIsWrong) {
  Replay<lockswap::address_space::OneRwLock>(kSteps).check();
  Replay<lockswap::address_space::ListPages>(kSteps).check();
}
TEST(Replay, FindsALostWrite) {
  Replay<lockswap::address_space::OneRwLock> replay(kSteps);
  replay.engine().write(replay.hand(), 0x103, 999);
  EXPECT_EXIT(replay.check(), testing::ExitedWithCode(1), "^wrong result: page 259 has 999");
}
TEST(Replay, FindsARegionThatIsLost) {
  Replay<lockswap::address_space::OneRwLock> replay(kSteps);
  replay.engine().unmap(replay.hand(), 0x302, 0x303);
  EXPECT_EXIT(replay.check(), testing::ExitedWithCode(1), "^wrong result: the regions are not");
}
TEST(Replay, FindsAProtectionThatWasNotChanged) {
  Replay<lockswap::address_space::OneRwLock> replay(kSteps);
  replay.engine().protect(replay.hand(), 0x100, 0x102, 3);
  EXPECT_EXIT(replay.check(), testing::ExitedWithCode(1), "^wrong result: the regions are not");
}
TEST(Replay, FindsARefusedAccess) {
  Replay<lockswap::address_space::OneRwLock> replay(kSteps);
  replay.traced()[1].refused = 1;
  EXPECT_EXIT(replay.check(), testing::ExitedWithCode(1), "^wrong result: thread 1: 1 accesses");
}

// A page that is mapped anew and still has what was there before is found by the read.
TEST(Replay, FindsAValueFromBeforeAnUnmapping) {
  const Trace trace = trace_of(
      "map 0 100 1 rw-\nwrite 0 100 1\nunmap 0 100 1\nmap 0 100 1 rw-\nread 0 100 1\n"
      "map 1 900 1 rw-\nmap 2 a00 1 rw-\n");
  const TracedStep& before = trace.threads[0][1];
  const TracedStep& read = trace.threads[0][4];
  EXPECT_FALSE(before.oldest <= read.value && read.oldest <= before.value);
}

TEST(Attempts, AreThoseOfASequentialReplay) {
  const Trace trace = trace_of(
      "map 0 100 40 ---\nprotect 0 100 2 rw-\nprotect 0 102 2 rw-\nmap 1 200 4 rw-\n"
      "map 1 204 4 rw-\nmap 2 204 4 rw- private 0 0\nmap 2 204 4 rw- private 1 0\n");
  EXPECT_EQ(trace.own.kinds(Step::protect).structural, 1U);  // the second moves a boundary
  // The second of five continues the first; the fourth and fifth put another file into its place.
  EXPECT_EQ(trace.own.kinds(Step::map).structural, 4U);
  using Engine = Space<NativeMachine, lockswap::address_space::ListPages>;
  Replayed all = replay_for<Engine, false>(trace, 0.05, {});
  all.attempts.check({&trace.own}, all.rounds);
  EXPECT_EXIT(all.attempts.check({&trace.own}, all.rounds + 1), testing::ExitedWithCode(1),
              "^wrong result: maps");
}

}  // namespace
