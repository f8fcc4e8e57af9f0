// Deadlines with two points, the caller's and one of the library's own, while CLOCK_REALTIME is
// set. What this program sees of that clock is set by its own clock_gettime.
#include "platform/clock.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>
#include <thread>
#include <unistd.h>

#include <sys/syscall.h>

#include "platform/futex.h"
#include "platform/native.h"

namespace {
std::atomic<std::int64_t> ahead;  // seconds
}
extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  const long error = syscall(SYS_clock_gettime, clock, t);
  if (error == 0 && clock == CLOCK_REALTIME) t->tv_sec += ahead;
  return static_cast<int>(error);
}

namespace lockswap {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::uint64_t kMillisecond = 1'000'000;

class Clocks : public testing::TestWithParam<std::int64_t> {
 protected:
  ~Clocks() override { ahead = 0; }
  static Deadline in_hours(clockid_t clock, std::int64_t hours, std::uint64_t patience) {
    timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += hours * kHour;
    return {clock, t, patience};
  }
  // Sleeps on a word that nobody changes; how often.
  static int sleep_until_over(const Deadline& d) {
    const std::uint32_t word = 0;
    int sleeps = 1;
    while (futex_wait(&word, 0, 1, &d) != Parked::timed_out)
      ++sleeps;
    return sleeps;
  }
};

// The clock jumps before the point is made, or after.
TEST_P(Clocks, PatienceLastsAsLongWhateverHappensToTheCallersClock) {
  for (const bool early : {true, false}) {
    for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
      ahead = 0;
      const Deadline d = in_hours(clock, 2, 20 * kMillisecond);
      if (early) ahead = GetParam();
      const std::uint64_t begin = monotonic_ns();
      const Deadline due = due_from_now(d);
      ahead = GetParam();
      EXPECT_LE(due.soon, monotonic_ns() + 20 * kMillisecond);
      EXPECT_EQ(sleep_until_over(due), 1);
      EXPECT_GE(monotonic_ns() - begin, 20 * kMillisecond);
      EXPECT_TRUE(has_passed(due));
      EXPECT_FALSE(has_passed(d));
    }
  }
}
TEST_P(Clocks, AnAwaitEndsWithItsPatience) {
  const Deadline d = in_hours(CLOCK_REALTIME, 2, 20 * kMillisecond);
  ahead = GetParam();
  NativeAtomic<std::uint32_t> word{};
  const auto never = [](std::uint32_t) { return false; };
  EXPECT_FALSE(Native::await(Pause::yield, word, relaxed, never, &d));
  EXPECT_FALSE(has_passed(d));
}
INSTANTIATE_TEST_SUITE_P(Steps, Clocks, testing::Values(-kHour, 0, kHour));

// As a thread does that has slept for a moment already.
TEST_F(Clocks, ASleeperNoticesThatItsOwnClockHasGoneForward) {
  const Deadline due = due_from_now(in_hours(CLOCK_REALTIME, 1, 3600 * 1000 * kMillisecond));
  std::thread sets([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ahead = 2 * kHour;
  });
  EXPECT_LE(sleep_until_over(due), 60);
  EXPECT_TRUE(has_passed(due));
  sets.join();
}

TEST_F(Clocks, ASleepKnowsTheSoonerOfTwoPoints) {
  const Deadline far = due_from_now(in_hours(CLOCK_MONOTONIC, 1, kMillisecond));
  EXPECT_EQ(one_sleep(far).clock, CLOCK_MONOTONIC);
  EXPECT_TRUE(is_sooner(one_sleep(far).at, far.at));
  const Deadline near = due_from_now(in_hours(CLOCK_MONOTONIC, 0, 1000 * kMillisecond));
  EXPECT_FALSE(is_sooner(near.at, one_sleep(near).at));
  EXPECT_TRUE(has_passed(near));
  const Deadline none = due_from_now(within(nullptr, kMillisecond));
  EXPECT_EQ(one_sleep(none).at.tv_sec, deadline_in(none.soon, 0).at.tv_sec);
  // A caller's time alone is the kernel's affair, whatever its clock.
  const Deadline callers = in_hours(CLOCK_REALTIME, 1, 0);
  EXPECT_EQ(one_sleep(callers).clock, CLOCK_REALTIME);
  EXPECT_EQ(one_sleep(callers).at.tv_sec, callers.at.tv_sec);
}
TEST_F(Clocks, CallersTimesMayBeAnything) {
  constexpr time_t kMost = std::numeric_limits<time_t>::max();
  constexpr time_t kLeast = std::numeric_limits<time_t>::min();
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    for (const time_t s : {kLeast, time_t{-1}, time_t{0}}) {
      const Deadline due = due_from_now({clock, {s, 999'999'999}, 1000 * kMillisecond});
      EXPECT_TRUE(has_passed(due));
      EXPECT_EQ(sleep_until_over(due), 1) << s;
    }
    for (const time_t s : {kMost - 1, kMost / 2}) {
      const Deadline due = due_from_now({clock, {s, 0}, kMillisecond});
      EXPECT_EQ(sleep_until_over(due), 1) << s;
      EXPECT_TRUE(has_passed(due));
    }
  }
}
TEST_F(Clocks, PatienceThatIsLongerForAWhile) {
  Deadline d = within(nullptr, 20 * kMillisecond);
  d.longer = 3000 * kMillisecond;
  const std::uint64_t now = monotonic_ns();
  EXPECT_GE(due_from_now(d).soon, now + 3000 * kMillisecond);
  Deadline room{};
  const Deadline* deadline = &d;
  ASSERT_TRUE(as_at_first(deadline, room));
  ASSERT_EQ(deadline, &room);
  const std::uint64_t soon = due_from_now(room).soon;
  EXPECT_LE(soon, monotonic_ns() + 20 * kMillisecond);
  EXPECT_FALSE(as_at_first(deadline, d));
  EXPECT_EQ(deadline, &room);
  const Deadline* none = nullptr;
  EXPECT_FALSE(as_at_first(none, room));
  d.longer = 3000 * kMillisecond;
  EXPECT_EQ(within(&d, kMillisecond).longer, kMillisecond);
}

}  // namespace
}  // namespace lockswap
