// Decides what is done to a thread at a point of its locking. The decision depends only on the
// seed, the thread's name, how many such points the thread has passed, and the kind of point.
//
// Idea: a counter-based generator, that is a mixing function of these numbers, so a thread's
//   decisions do not depend on other threads. The mix is the finalizer of SplitMix64 (G. Steele, D.
//   Lea, C. Flood, OOPSLA 2014).
// Styles: no single style finds all bugs, so a seed also selects how often something is done, how
//   long delays are, which kind of point and which threads are preferred, and whether it selects
//   among threads that wait for a lock.
// Budget: a program that makes millions of calls would take too long. So a thread is fully
//   disturbed only until its delays have cost about its budget, and from then on in a decreasing
//   share of its stretches. Its progress is measured in points, not in time: `base` and `count`.
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
  std::uint32_t amount = 0;  // delay: microseconds; migrate: a number that selects the processor
};

struct Settings {
  std::uint64_t seed = 0;
  std::uint32_t percent = 0;  // the share of points at which something is done; 0: by the seed
  std::uint32_t longest_us = 4000;
  std::uint32_t budget_ms = 300;
  bool spurious = false;
  bool turns = true;           // select among waiting threads
  std::uint32_t turn_ms = 50;  // how long a waiting thread lets others go first: gate.h
  bool serial = false;         // one thread at a time: serial.h
  std::uint32_t length = 256;  // the rough number of points in a run
};

constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline constexpr unsigned kStretch = 32;  // points between changes of whether a thread is preferred
// For each older child of its creator, a thread begins with this many points of its budget spent.
inline constexpr unsigned kPointsPerThread = 64;

// Returns the number of magnitudes of delays: below 2, 4, 8, ... microseconds. All are equally
// frequent.
constexpr unsigned magnitudes(const Settings& s) noexcept {
  unsigned n = 1;
  while (n < 20 && (1u << n) < s.longest_us)
    ++n;
  return n;
}

// Returns how many points a thread passes before it has spent its budget.
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
  // A stretch that begins after n times the budget's points is disturbed with probability 1/n.
  const std::uint64_t before = base + count / kStretch * kStretch;
  const std::uint64_t full = points_in_full(s, percent);
  if (before >= full && mix(~mood) % before >= full) return {};
  // In a quarter of the stretches a thread is hardly disturbed, so that it overtakes others, and
  // they overtake it in the rest.
  if (mood % 4 == 0) percent /= 8;
  // Half of the runs prefer one kind of point.
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

// Returns whether a seed selects the next thread (gate.h). The other function returns the number of
// a waiting thread. In half of those runs a thread has the same number throughout, so one thread
// always comes last.
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
