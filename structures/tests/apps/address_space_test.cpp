// The checker of apps/address_space: that it knows what steps make, as the sequential model of the
// engine's tests does page by page, and that it finds an engine that has something else.
#include <gtest/gtest.h>
#include <optional>
#include <random>

#include "../address_space/model.h"
#include "address_space/allocator.h"
#include "address_space/contest.h"
#include "address_space/designs/rwlock.h"

namespace {

using namespace bench;
namespace space = lockswap::address_space;

using Model = address_space_test::Model;

address_space_test::Step as_model_step(const Step& s) {
  using Kind = address_space_test::Step;
  address_space_test::Step m{};
  m.kind = s.kind == Step::map       ? Kind::map
           : s.kind == Step::unmap   ? Kind::unmap
           : s.kind == Step::protect ? Kind::protect
           : s.kind == Step::discard ? Kind::discard
                                     : Kind::brk;
  m.start = s.kind == Step::brk ? s.end : s.start;
  m.end = s.end;
  m.protection = s.protection;
  return m;
}

std::vector<Model::Run> runs_of(const Own& own) {
  std::vector<Model::Run> runs;
  for (const auto& [start, run] : own.runs())
    runs.push_back({start, run.end, run.protection, -1, false});
  return runs;
}

TEST(Own, IsWhatAModelOfPagesIs) {
  std::mt19937 random(1);
  const std::uint64_t base = tables_of(0);
  Own own(base);
  Model model(base);
  address_space_test::Files none;
  for (std::uint64_t i = 1; i < 20000; ++i) {
    Step s{};
    s.kind = static_cast<Step::Kind>(random() % (Step::write + 1));
    s.start = base + random() % 40;
    s.end = s.start + 1 + random() % 12;
    s.protection = random() % 3 == 0 ? space::kRead : kReadWrite;
    if (s.kind == Step::write) {
      s.end = s.start + 1;
      address_space_test::Step m{};
      m.kind = address_space_test::Step::write;
      m.start = s.start;
      m.value = i;
      if (!model.apply(m, none).ok) continue;  // a program writes only what it may write
    } else {
      model.apply(as_model_step(s), none);
    }
    own.apply(s, i);
    ASSERT_EQ(runs_of(own), model.runs()) << "step " << i;
    const std::uint64_t page = base + random() % 52;
    address_space_test::Step look{};
    look.kind = address_space_test::Step::read;
    look.start = page;
    const auto seen = model.apply(look, none);
    if (!seen.ok) continue;
    ASSERT_EQ(own.value(page), seen.value) << "step " << i << ", page " << page;
  }
}

TEST(Own, AFileShowsItsPages) {
  Own own(tables_of(0));
  const std::uint64_t at = arena_of(1);
  own.apply({.kind = Step::map,
             .start = at,
             .end = at + 4,
             .protection = kReadWrite,
             .file = 0,
             .base = at},
            1);
  EXPECT_EQ(own.value(at + 2), kFileFirst + 2);
  own.apply({.kind = Step::write, .start = at + 2, .end = at + 3}, 7);
  EXPECT_EQ(own.value(at + 2), 7U);
  own.apply({.kind = Step::discard, .start = at, .end = at + 4}, 8);
  EXPECT_EQ(own.value(at + 2), kFileFirst + 2);
}

TEST(Own, CountsWhatIsStructural) {
  Own own(tables_of(0));
  const std::uint64_t at = arena_of(1);
  own.apply({.kind = Step::map, .start = at, .end = at + 8}, 1);
  const auto protect = [&](std::uint64_t start, std::uint64_t end, std::uint32_t as) {
    own.apply({.kind = Step::protect, .start = at + start, .end = at + end, .protection = as}, 1);
  };
  protect(0, 2, kReadWrite);    // a region more
  protect(2, 3, kReadWrite);    // a boundary moves
  protect(2, 5, space::kRead);  // a region more; not in one
  const Own::Kinds& k = own.kinds(Step::protect);
  EXPECT_EQ(k.all, 3U);
  EXPECT_EQ(k.structural, 2U);
  EXPECT_EQ(k.spread, 1U);
  EXPECT_EQ(k.split, 1U);
}

TEST(Own, TellsWhereInItsMappingAStructuralProtectIs) {
  Own own(tables_of(0));
  const std::uint64_t at = arena_of(1);
  const auto map = [&](std::uint64_t start, std::uint64_t end, int file, std::uint32_t as) {
    own.apply({.kind = Step::map,
               .start = at + start,
               .end = at + end,
               .protection = as,
               .file = file,
               .base = at},
              1);
  };
  const auto protect = [&](std::uint64_t start, std::uint64_t end, std::uint32_t as) {
    own.apply({.kind = Step::protect, .start = at + start, .end = at + end, .protection = as}, 1);
  };
  own.load({.kind = Step::map, .start = at, .end = at + 4, .protection = kReadWrite});
  map(10, 14, 0, kReadWrite);
  protect(0, 1, space::kRead);    // loaded
  protect(12, 14, space::kRead);  // loaded
  protect(1, 2, space::kRead);    // a boundary moves
  map(30, 34, -1, 0);
  map(26, 30, -1, 0);           // below: one region, two mappings
  protect(31, 34, kReadWrite);  // top
  protect(27, 30, kReadWrite);  // top, between pages that stay as they are
  map(40, 44, -1, 0);
  protect(40, 41, kReadWrite);  // bottom
  protect(41, 43, kReadWrite);  // a boundary moves
  protect(43, 44, kReadWrite);  // joined
  protect(41, 42, 0);           // other: it was open
  protect(42, 44, 0);           // joined
  protect(26, 28, kReadWrite);  // several; structural, since two regions become one
  EXPECT_EQ(own.kinds(Step::protect).structural, 9U);
  EXPECT_EQ(own.kinds(Step::protect).parts, (Parts{2, 2, 1, 2, 1, 1}));
}

class Checked : public testing::Test {
 protected:
  using Engine = space::Space<space::NativeMachine, space::OneRwLock>;
  void work(const std::string& workload, int calls) {
    work_.workload = workload;
    work_.memory = "arenas";
    work_.threads = 2;
    work_.pages = 256;
    engine_.begin_heap(tables_of(0));
    worker_.emplace(engine_, hand_, work_, 1);
    const std::atomic<bool> stop{false};
    Untimed watch;
    for (int i = 0; i < calls; ++i)
      worker_->work(watch, stop);
  }
  // `seen`: what another thread has read.
  void check(const std::vector<Sighting>& seen = {}) { checked(engine_, *worker_, work_, 1, seen); }
  // A page that the thread has written.
  std::uint64_t written() const { return tables_of(1); }

  Engine engine_;
  Engine::Hand hand_{engine_.sync()};
  Work work_;
  std::optional<SpaceWorker<Engine>> worker_;
};

TEST_F(Checked, FindsNothingWhereNothingIsWrong) {
  work("malloc", 50);
  check();
}
TEST_F(Checked, FindsALostWrite) {
  work("malloc", 3);
  engine_.write(hand_, written(), 999);
  EXPECT_EXIT(check(), testing::ExitedWithCode(1), "^wrong result: .*999");
}
TEST_F(Checked, FindsAProtectionThatWasNotChanged) {
  work("malloc", 3);
  engine_.protect(hand_, written(), written() + 1, space::kRead);
  EXPECT_EXIT(check(), testing::ExitedWithCode(1), "^wrong result: .*regions");
}
TEST_F(Checked, FindsARegionThatIsLost) {
  work("dedup", 3);
  engine_.unmap(hand_, arena_of(1), arena_of(1) + 10);
  EXPECT_EXIT(check(), testing::ExitedWithCode(1), "^wrong result: .*regions");
}
TEST_F(Checked, FindsARefusedAccess) {
  work("dedup", 3);
  engine_.unmap(hand_, arena_of(1), arena_of(1) + 4096);
  const std::atomic<bool> stop{false};
  Untimed watch;
  worker_->work(watch, stop);
  EXPECT_EXIT(check(), testing::ExitedWithCode(1), "^wrong result: .*refused");
}
// Call 1 makes the heap and writes its first 16 pages, call 2 those behind.
TEST_F(Checked, KnowsWhatOthersMayHaveSeen) {
  work("malloc", 3);
  check({{1, written()}, {2, written() + 16}, {1, written() + 15}, {3, written() + 32}});
}
TEST_F(Checked, FindsAValueThatWasNeverWrittenToThatPage) {
  work("malloc", 3);
  EXPECT_EXIT(check({{1, written()}, {2, written()}, {3, written() + 32}}),
              testing::ExitedWithCode(1), "^wrong result: .*has read 2 in page .*never written");
}
TEST_F(Checked, FindsAValueOfACallThatWasNever) {
  work("malloc", 3);
  EXPECT_EXIT(check({{4, written()}}), testing::ExitedWithCode(1),
              "^wrong result: .*has read 4 in page .*never written");
}
TEST(SightingsOfAThread, AreAllNotedAndNoneOften) {
  Sightings seen;
  seen.note(tables_of(1), 0);  // nobody has written
  for (std::uint64_t i = 0; i < 300000; ++i) {
    const int other = 1 + static_cast<int>(i % 3);
    seen.note(tables_of(other) + i % 1000, 1 + i % 7);
    seen.note(tables_of(other) + i % 1000, 1 + i % 7);
  }
  std::vector<Sighting> all = seen.all();
  EXPECT_LT(all.size(), std::size_t{1} << 16);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  EXPECT_EQ(all.size(), 21000U);
}
TEST_F(Checked, NotesWhatItVisits) {
  const std::uint64_t at = tables_of(0);
  engine_.map(hand_, {.start = at, .end = at + 1100, .protection = kReadWrite});
  for (std::uint64_t p = 0; p < 1100; ++p)
    engine_.write(hand_, at + p, 5);
  work("wr", 20);
  ASSERT_GT(worker_->seen().size(), 40U);
  for (const Sighting& s : worker_->seen()) {
    EXPECT_EQ(s.value, 5U);
    EXPECT_LT(s.page - at, 1100U);
  }
}
TEST_F(Checked, FindsAPageOfAnotherFile) {
  work("page_fault2", 2);
  engine_.map(hand_, {.start = arena_of(1), .end = arena_of(1) + 256, .protection = kReadWrite});
  EXPECT_EXIT(check(), testing::ExitedWithCode(1), "^wrong result: .*regions");
}

}  // namespace
