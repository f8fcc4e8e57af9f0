// Whether one running thread alone gets more done at a lock than several: where threads do next to
// nothing but lock and release, each update waits for a cache line that another processor has just
// had, and a thread that has the line to itself does several times what all of them do.
//
// So both are tried at locks that threads often find taken, now and then: for kPhase as ever, and
// for kPhase in which each thread that finds the lock taken naps, so that those that run become
// fewer until none is in another's way. Releases are counted meanwhile. A trial in which one alone
// made an eighth more raises the lock's score, another one lowers it. Threads nap where the score
// is kFaster or more. It needs to know nothing of what threads do in the lock and outside.
//
// A nap lasts for kNap, and for longer where that many threads nap that they come back too often.
// Where threads have become rare the score falls by itself.
//
// One trial is under way in the process, and begins kPeriod after the last one at the earliest; at
// a lock whose score is the lowest or the highest, in one of kSeldom periods. The lock's word has a
// bit that says that releases are to be counted, which takes them through the slow path; the first
// one that is not counted takes it away. Nobody naps where nobody spins (spins.h): on one processor
// one thread is alone anyway.
//
// What is learned stands in a table by the word's address. What two threads write at once may be
// lost: it decides nothing but times.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/by_address.h"
#include "platform/clock.h"
#include "platform/spins.h"
#include "platform/thread.h"

namespace lockswap {

struct TrialClock {
  static std::uint64_t now() noexcept { return monotonic_ns(); }
  static std::uint64_t nearly_now() noexcept { return coarse_monotonic_ns(); }
};

template <class Clock>
class TriesOneAtATime {
 public:
  static constexpr std::uint64_t kNap = 30'000;     // nanoseconds; the kernel adds some 50 us
  static constexpr std::uint64_t kPhase = 250'000;  // nanoseconds
  // Before a trial where threads nap: they come back, and learn again how long to spin.
  static constexpr std::uint64_t kReturn = 1'000'000;
  static constexpr std::uint64_t kPeriod = 1u << 25;  // nanoseconds: 34 ms
  static constexpr std::uint32_t kSeldom = 8;
  // How often threads find a lock taken in a period for which a trial is worth while; and where
  // they nap.
  static constexpr std::uint32_t kHot = 64, kWarm = 8;
  static constexpr std::uint32_t kBatch = 16;  // releases that a thread counts at once
  // Releases in a phase: with fewer, chance would decide, and what is done in the lock.
  static constexpr std::uint64_t kEnough = 16 * kBatch;
  // Releases in a phase: more than any has, of some 5 ns each and some milliseconds.
  static constexpr std::uint64_t kMostCounted = 1 << 21;

  struct Advice {
    std::uint64_t nap = 0;  // nanoseconds
    bool counts = false;    // releases are to be counted from now on
  };

  // Of a thread that has found the lock taken.
  static Advice advise(const void* word) noexcept {
    if (Spins::most() == 0) return {};
    Cell& cell = cell_of(word);
    Known known(cell.load(relaxed));  // relaxed, here and below: see the head
    if (word_.load(relaxed) == word) return {.nap = go_on(word, cell)};
    const std::uint32_t now = period();
    if (known.period != now) known.begin(now);
    const std::uint32_t enough = known.nap() != 0 ? kWarm : kHot;
    if (known.found > enough && known.nap() == 0) return {};
    known.found = std::min(known.found + 1, kMostFound);
    cell.store(known.value(), relaxed);
    const bool is_due = !known.is_sure() || (now + by_address(word, kCells)) % kSeldom == 0;
    if (known.found != enough || !is_due || !begin(word)) return {.nap = known.nap()};
    return {.counts = true};
  }

  // Of a thread that has napped: a phase may be over.
  static void napped(const void* word) noexcept {
    if (word_.load(relaxed) == word) go_on(word, cell_of(word));
  }

  // Of a thread that releases a lock whose releases are counted. False: they are no longer.
  static bool counted(const void* word) noexcept {
    if (word_.load(relaxed) != word) return false;
    if (++per_thread<Batch>.releases % kBatch != 0) return true;
    // Phases end where threads find the lock taken, and look at the clock. Where none does any
    // more a release ends the trial. It has not waited, so it looks at none.
    if (count_.fetch_add(kBatch, relaxed) < kMostCounted) return true;
    forget_trial();
    return false;
  }

  static void forget_trial() noexcept { word_.store(nullptr, relaxed); }
  // For tests: what was learned at a word, which may be another's that has the same cell.
  static void forget(const void* word) noexcept {
    cell_of(word).store(0, relaxed);
    state_.store(0, relaxed);
    forget_trial();
  }

 private:
  struct Batch {
    std::uint32_t releases;
  };
  using Cell = NativeAtomic<std::uint64_t>;
  static constexpr std::size_t kCells = 1024;
  static constexpr std::uint32_t kMostFound = 0xffff;
  // A cell: the period (32 bits), how many threads found the lock taken in it (16), how often the
  // nap is doubled (8), the score (8): up by one for each trial that says that one alone is faster,
  // else down.
  struct Known {
    explicit Known(std::uint64_t v) noexcept
        : period(v >> 32),
          found(v >> 16 & 0xffff),
          doubled(v >> 8 & 0xff),
          score((v & 0xff) ^ kFirst) {}
    std::uint64_t value() const noexcept {
      return std::uint64_t{period} << 32 | found << 16 | doubled << 8 | (score ^ kFirst);
    }
    std::uint64_t nap() const noexcept { return score >= kFaster ? kNap << doubled : 0; }
    bool is_sure() const noexcept { return score == 0 || score == kSurely; }
    void begin(std::uint32_t now) noexcept {
      const std::uint32_t many = kMany >> doubled / 2;
      if (found > many && doubled < kMostDoubled) ++doubled;
      if (found < many / 2 && doubled > 0) --doubled;
      // Where threads seldom find the lock taken no trial would end their naps.
      if ((found < kWarm || now - period > 1) && score > kFirst) --score;
      if (now - period > kLong) score = kFirst;
      period = now;
      found = 0;
    }
    void learn(bool is_faster) noexcept {
      if (is_faster) {
        score = std::min(score + 1, kSurely);
      } else if (score > 0) {
        --score;
      }
    }
    std::uint32_t period, found, doubled, score;

   private:
    static constexpr std::uint32_t kFirst = 1, kFaster = 3, kSurely = 4;
    static constexpr std::uint32_t kLong = 64;  // periods: 2 s
    static constexpr std::uint32_t kMany = 600, kMostDoubled = 6;
  };
  static Cell& cell_of(const void* word) noexcept { return cells_[by_address(word, kCells)]; }
  static std::uint32_t period() noexcept {
    return static_cast<std::uint32_t>(Clock::nearly_now() / kPeriod);
  }

  // --- the trial. Its state: since when it has been in the phase, and which that is.
  static constexpr std::uint64_t kReturning = 0, kTogether = 1, kAlone = 2;
  static std::uint64_t since_in(std::uint64_t state) noexcept { return state >> 2; }
  static std::uint64_t phase_in(std::uint64_t state) noexcept { return state & 3; }

  // False: the last one was just now, or another thread was faster.
  static bool begin(const void* word) noexcept {
    std::uint64_t state = state_.load(relaxed);
    const std::uint64_t now = Clock::now();
    if (now < since_in(state) + kPeriod) return false;
    if (!state_.compare_exchange(state, now << 2 | kReturning, relaxed)) return false;
    count_.store(0, relaxed);
    word_.store(word, relaxed);
    return true;
  }
  // How long the calling thread naps. It begins the next phase, or ends the trial, if it is time.
  static std::uint64_t go_on(const void* word, Cell& cell) noexcept {
    // Before the clock: a phase begins before now, or the compare-exchange fails.
    std::uint64_t state = state_.load(relaxed);
    const std::uint64_t now = Clock::now(), since = since_in(state), phase = phase_in(state);
    const std::uint64_t passed = now > since ? now - since : 0;  // clocks may differ a little
    Known known(cell.load(relaxed));
    const std::uint64_t comes_back = known.nap() != 0 ? 2 * known.nap() + kReturn : 0;
    const std::uint64_t lasts = phase == kReturning ? comes_back : kPhase;
    if (passed < lasts) return phase == kAlone ? lasts - passed : 0;
    if (phase > kAlone) return 0;  // it is over
    // One thread does what follows.
    if (!state_.compare_exchange(state, now << 2 | (phase + 1), relaxed)) return 0;
    const std::uint64_t count = count_.exchange(0, relaxed);
    if (word_.load(relaxed) != word) return 0;  // another lock's trial
    if (phase == kReturning) return 0;
    // Where nobody came for that long the lock is no longer contended.
    const bool says_nothing = passed > 3 * kPhase;
    if (!says_nothing && phase == kTogether) {
      together_.store(count * kPhase / passed, relaxed);
      return kPhase;
    }
    forget_trial();
    if (!says_nothing) {
      const std::uint64_t together = together_.load(relaxed), alone = count * kPhase / passed;
      known.learn(together >= kEnough && alone > together + together / 8);
      cell.store(known.value(), relaxed);
    }
    return 0;
  }

  static inline constinit NativeAtomic<const void*> word_{};  // of the trial's lock
  static inline constinit NativeAtomic<std::uint64_t> state_{};
  static inline constinit NativeAtomic<std::uint64_t> together_{};  // releases in that phase
  alignas(64) static inline constinit NativeAtomic<std::uint64_t> count_{};
  alignas(64) static inline constinit std::array<Cell, kCells> cells_{};
};

using OneAtATime = TriesOneAtATime<TrialClock>;

}  // namespace lockswap
