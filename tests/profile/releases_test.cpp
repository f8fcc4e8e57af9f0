// The last releases of a thread, which waiting threads look up while it makes others: one comes at
// each instruction of the other. What is found is a whole release, and the one that was looked for.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>

#include "each_step.h"
#include "profile/waits.h"
#include "profile/world.h"

namespace lockswap::profile {
namespace {

class ReleasesTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kPlace = 1;

  void SetUp() override {
    if (!kCanStep) GTEST_SKIP() << "skipped: single steps are made on x86-64 alone";
    static World world_of_test{};
    static Live live{};
    the_world = &world_of_test;
    thread().place = kPlace;
    thread().live = &live;
    world().thread[kPlace].store(&thread(), release);
  }
  static Thread& thread() {
    static Thread it{};
    return it;
  }
  static Object& object() { return world().objects[0]; }

  // A release, and what a thread looks for that it has woken.
  Pending announce() {
    announce_release(thread(), object(), Mode::exclusive, ++now_, nullptr);
    return {
        &object(), object().release.load(relaxed), 1, ~std::uint64_t{0} >> 1, 0, 0, Mode::exclusive,
        false};
  }
  void announce_others(std::size_t n) {
    while (n-- != 0)
      announce();
  }
  void look_up() { found_ = ended_at(one_); }

  // Announces a release and `more` others before each run. One of body and handler looks it up,
  // and must find it, or nothing; over all runs both happen.
  void at_each_step(std::size_t more, const std::function<void()>& body,
                    const std::function<void()>& handler) {
    std::uint64_t at = 0;
    int whole = 0, gone = 0;
    EachStep::run(
        [&] {
          one_ = announce();
          at = now_;
          announce_others(more);
        },
        body, handler,
        [&](int step) {
          EXPECT_TRUE(found_ == 0 || found_ == at) << "step " << step << ": another release";
          ++(found_ == 0 ? gone : whole);
        });
    EXPECT_GT(gone, 0);
    EXPECT_GT(whole, 0);
  }

  std::uint64_t now_ = 1'000;
  Pending one_{};
  std::uint64_t found_ = 0;
};

TEST_F(ReleasesTest, OneIsFoundUntilItsPlaceIsTaken) {
  const Pending one = announce();
  const std::uint64_t at = now_;
  EXPECT_EQ(ended_at(one), at);
  announce_others(kReleases - 1);
  EXPECT_EQ(ended_at(one), at);
  announce_others(1);
  EXPECT_EQ(ended_at(one), 0u);
}

TEST_F(ReleasesTest, ItsPlaceIsTakenWhileOneIsLookedUp) {
  at_each_step(
      0, [this] { look_up(); }, [this] { announce_others(kReleases); });
}

TEST_F(ReleasesTest, OneIsLookedUpWhileItsPlaceIsTaken) {
  at_each_step(
      kReleases - 1, [this] { announce(); }, [this] { look_up(); });
}

}  // namespace
}  // namespace lockswap::profile
