// What is done to a thread at a point of its locking, as a function of four numbers alone: the
// seed, the thread's name, how many such points the thread has passed, and the kind of point.
//
// Idea: a generator that counts: a mixing function of the numbers, so that a thread's decisions do
//   not depend on those of others. The mix is the finalizer of SplitMix64 (G. Steele, D. Lea, C.
//   Flood, OOPSLA 2014).
// Runs differ in style, too, since no one style finds all: a seed says how often something is done,
//   how long delays are, which kind of point and which threads it prefers, and whether it chooses
//   among those who wait for a lock.
// A program that makes millions of calls would not come to its end. So each thread has a budget: it
//   is disturbed in full until its delays have cost about that much, and from then on in fewer and
//   fewer of its stretches. Its progress is measured in points, not in time: `base` and `count`.
#pragma once

#include <cstdint>

namespace lockswap::fuzz {

enum class Point : std::uint8_t {
  before_acquire,
  after_acquire,
  before_release,
  after_release,
  before_wait,
  after_wait,
  before_signal,
  after_signal,
  begin,  // of a thread
};
inline constexpr unsigned kPoints = 9;

enum class Act : std::uint8_t { nothing, yield, delay, migrate, spurious };

struct Decision {
  Act act = Act::nothing;
  std::uint32_t amount = 0;  // delay: microseconds; migrate: a number that chooses the processor
};

struct Settings {
  std::uint64_t seed = 0;
  std::uint32_t percent = 0;  // points at which something is done; 0: the seed says
  std::uint32_t longest_us = 4000;
  std::uint32_t budget_ms = 300;
  bool spurious = false;
  bool turns = true;           // choose among those who wait
  bool serial = false;         // one thread at a time: serial.h
  std::uint32_t length = 256;  // about how many points a run has
};

constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline constexpr unsigned kStretch = 32;  // points for which a thread stays preferred, or not
// A thread's count begins with this many points for each older child of its creator.
inline constexpr unsigned kPointsPerThread = 64;

// Returns how many magnitudes of delays there are: below 2, 4, 8, ... microseconds. Each is as
// frequent.
constexpr unsigned magnitudes(const Settings& s) noexcept {
  unsigned n = 1;
  while (n < 20 && (1u << n) < s.longest_us)
    ++n;
  return n;
}

// Returns how many points a thread passes before its budget is spent.
constexpr std::uint64_t points_in_full(const Settings& s, std::uint32_t percent) noexcept {
  constexpr std::uint64_t kWakeUp = 60;  // us
  const unsigned n = magnitudes(s);
  // Nine of sixteen acts are delays, of 2^n / n microseconds on average.
  const std::uint64_t mean = (std::uint64_t{1} << n) / n * 9 / 16 + kWakeUp;
  const std::uint64_t points = std::uint64_t{s.budget_ms} * 1000 * 100 / (mean * percent);
  return points > 2 * kStretch ? points : 2 * kStretch;
}

constexpr Decision decide(const Settings& s, std::uint64_t thread, std::uint64_t base,
                          std::uint64_t count, Point point) noexcept {
  constexpr std::uint32_t kOftens[] = {3, 10, 30, 60};
  const std::uint64_t style = mix(s.seed);
  const std::uint64_t mood = mix(style ^ mix(thread ^ mix(count / kStretch)));
  const std::uint64_t h = mix(mood ^ mix(count));
  std::uint32_t percent = s.percent != 0 ? s.percent : kOftens[style % 4];
  // A stretch that begins after n budgets' worth of points is disturbed with a probability of 1/n.
  const std::uint64_t before = base + count / kStretch * kStretch;
  const std::uint64_t full = points_in_full(s, percent);
  if (before >= full && mix(~mood) % before >= full) return {};
  // In a quarter of the stretches a thread is left alone, so that others overtake it and it them.
  if (mood % 4 == 0) percent /= 8;
  // One kind of point is preferred in half of the runs.
  if ((style >> 8) % 2 == 0 && static_cast<unsigned>(point) == (style >> 16) % kPoints) {
    percent = percent * 4 < 90 ? percent * 4 : 90;
  }
  if (h % 100 >= percent) return {};
  const std::uint64_t what = (h >> 8) % 16;
  const auto amount = static_cast<std::uint32_t>(h >> 32);
  if (s.spurious && point == Point::before_wait && what < 8) return {Act::spurious, 0};
  if (what < 5) return {Act::yield, 0};
  if (what < 7) return {Act::migrate, amount};
  const std::uint32_t top = 1u << (1 + (h >> 16) % magnitudes(s));
  const std::uint32_t us = 1 + amount % top;
  return {Act::delay, us < s.longest_us ? us : s.longest_us};
}

// Returns whether a seed chooses who goes next (gate.h), and the number of a thread that waits: in
// half of those runs it is the thread's for the whole run, so that one thread always comes last.
constexpr bool chooses_turns(const Settings& s) noexcept {
  return s.turns && (mix(s.seed) >> 24) % 4 != 0;
}
constexpr std::uint64_t turn_number(const Settings& s, std::uint64_t thread,
                                    std::uint64_t count) noexcept {
  const std::uint64_t style = mix(s.seed);
  const bool fixed = (style >> 28) % 2 == 0;
  return mix(style ^ mix(thread ^ (fixed ? 0 : mix(count))));
}

}  // namespace lockswap::fuzz
