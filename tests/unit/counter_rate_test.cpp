// The counter's rate, measured by a thread that loses its processor at any moment.
#include "platform/counter_rate.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <set>
#include <utility>

namespace lockswap::counter_rate_test {
namespace {

constexpr std::uint64_t kTicksPerNs = 3, kLeast = 20'000;
constexpr std::uint64_t kPreempted = 10'000'000, kStopped = 3'600'000'000'000;
constexpr unsigned kShift = 32;
constexpr double kRight = (std::uint64_t{1} << kShift) / static_cast<double>(kTicksPerNs);

// Time passes by reading it; before those reads, the thread is preempted.
class Time {
 public:
  Time(std::uint64_t read_ns, std::set<int> preempted, std::uint64_t away_ns = kPreempted)
      : read_ns_(read_ns), preempted_(std::move(preempted)), away_ns_(away_ns) {}
  std::uint64_t measure(std::uint64_t least = kLeast) {
    return measure_ns_per_tick([this] { return read(); }, [this] { return kTicksPerNs * read(); },
                               least, kShift);
  }
  std::uint64_t now() const { return now_; }
  int reads() const { return reads_; }

 private:
  std::uint64_t read() {
    if (preempted_.contains(reads_++)) now_ += away_ns_;
    return now_ += read_ns_;
  }

  const std::uint64_t read_ns_;
  const std::set<int> preempted_;
  const std::uint64_t away_ns_;
  std::uint64_t now_ = 1'000'000'000;
  int reads_ = 0;
};

TEST(CounterRate, IsRightWhereverTheThreadIsPreempted) {
  Time quiet(25, {});
  EXPECT_NEAR(static_cast<double>(quiet.measure()), kRight, kRight / 100);
  EXPECT_LT(quiet.now() - 1'000'000'000, kLeast + 2000);
  for (int once = 0; once < quiet.reads(); ++once) {
    for (const std::uint64_t away_ns : {kPreempted, kStopped}) {
      Time time(25, {once}, away_ns);
      EXPECT_NEAR(static_cast<double>(time.measure()), kRight, kRight / 100) << once;
    }
  }
}

// Before the clock is read, each time. No rate is better than a wrong one: the clock is used then.
TEST(CounterRate, IsNoneIfAllFirstReadingsAreDisturbed) {
  Time time(25, {1, 4, 7, 10, 13});
  EXPECT_EQ(time.measure(), 0u);
}

// As under valgrind, or where the counter is the hypervisor's.
TEST(CounterRate, IsRightWhereReadingTakesLong) {
  Time time(20'000, {});
  EXPECT_NEAR(static_cast<double>(time.measure(10 * kLeast)), kRight, kRight / 100);
}

TEST(CounterRate, IsNoneOfACounterThatStands) {
  std::uint64_t now = 0;
  EXPECT_EQ(measure_ns_per_tick([&] { return now += 1000; }, [] { return std::uint64_t{5}; },
                                kLeast, kShift),
            0u);
}

}  // namespace
}  // namespace lockswap::counter_rate_test
