// Learns whether one running thread alone gets more done at a lock than several do. If threads do
// little besides locking and unlocking, each atomic RMW waits for a cache line that another
// processor has just used, and one thread that keeps the line does several times what they all do.
//
// So both are tried now and then, at locks that threads often find taken: for one kPhase unchanged,
// and for another kPhase with every thread that finds the lock taken backing off, so that fewer and
// fewer threads run until none gets in another's way. Releases are counted meanwhile. A trial in
// which one thread alone made an eighth more raises the lock's score, any other one lowers it.
// While the score is kFaster or more, contention is throttled: threads that find the lock taken
// back off. Nothing has to be known about what threads do inside and outside of the lock.
//
// They sleep for kSleep, and for longer if they are so many that they would come back too often.
// The score decays when contention does.
//
// At most one trial runs per process, at least kPeriod after the previous one. A lock whose score
// is at either limit is only tried once every kSeldom periods. A bit in the lock's word sends
// releases through the slow path so that they are counted; the first release that is not counted
// clears it. Nobody backs off where nobody spins (spins.h): one processor runs one thread anyway.
//
// Two threads' concurrent stores may overwrite each other, which affects timing only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/adaptive/spins.h"
#include "platform/address_table.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/thread.h"

namespace lockswap {

struct TrialClock {
  static std::uint64_t now() noexcept { return monotonic_ns(); }
  static std::uint64_t nearly_now() noexcept { return coarse_monotonic_ns(); }
};

template <class Clock>
class TriesThrottling {
 public:
  static constexpr std::uint64_t kSleep = 30'000;   // nanoseconds; the kernel adds some 50 us
  static constexpr std::uint64_t kPhase = 250'000;  // nanoseconds
  // Lead-in to a trial at a lock that is throttled: threads return and relearn their spin time.
  static constexpr std::uint64_t kRecovery = 1'000'000;
  static constexpr std::uint64_t kPeriod = 1u << 25;  // nanoseconds: 34 ms
  static constexpr std::uint32_t kSeldom = 8;
  // How often threads must find a lock taken in a period for a trial to be worth while: kWarm while
  // contention is throttled, kHot otherwise.
  static constexpr std::uint32_t kHot = 64, kWarm = 8;
  static constexpr std::uint32_t kBatch = 16;  // releases that a thread counts at once
  // Least releases in a phase: with fewer, noise and the critical section's length would decide.
  static constexpr std::uint64_t kEnough = 16 * kBatch;
  // An upper bound: a phase lasts a few milliseconds, and a release takes at least 5 ns.
  static constexpr std::uint64_t kMostCounted = 1 << 21;

  struct Advice {
    std::uint64_t sleep = 0;  // nanoseconds
    bool counts = false;      // releases are to be counted from now on
  };

  // Called by a thread that has found the lock taken.
  static Advice advise(const void* word) noexcept {
    if (Spins::most() == 0) return {};
    Cell& cell = cells_[word];
    Known known(cell.load(relaxed));  // relaxed, here and below: see the head
    if (word_.load(relaxed) == word) return {.sleep = go_on(word, cell)};
    const std::uint32_t now = period();
    if (known.period != now) known.begin(now);
    const std::uint32_t enough = known.sleep() != 0 ? kWarm : kHot;
    if (known.found > enough && known.sleep() == 0) return {};
    known.found = std::min(known.found + 1, kMostFound);
    cell.store(known.value(), relaxed);
    const bool is_due =
        !known.is_sure() || (now + AddressTable<Cell>::index_of(word)) % kSeldom == 0;
    if (known.found != enough || !is_due || !begin(word)) return {.sleep = known.sleep()};
    return {.counts = true};
  }

  // Called by a thread that has backed off: a phase may be over.
  static void backed_off(const void* word) noexcept {
    if (word_.load(relaxed) == word) go_on(word, cells_[word]);
  }

  // Called by a thread that releases a lock whose releases are counted. Returns whether they still
  // are.
  static bool counted(const void* word) noexcept {
    if (word_.load(relaxed) != word) return false;
    if (++per_thread<Batch>.releases % kBatch != 0) return true;
    // Phases end when a thread finds the lock taken, and reads the clock. If no thread does any
    // more, a release ends the trial. That thread hasn't waited, so it doesn't read the clock.
    if (count_.fetch_add(kBatch, relaxed) < kMostCounted) return true;
    forget_trial();
    return false;
  }

  static void forget_trial() noexcept { word_.store(nullptr, relaxed); }
  // For tests: forgets the cell of this word, which other locks may share.
  static void forget(const void* word) noexcept {
    cells_[word].store(0, relaxed);
    state_.store(0, relaxed);
    forget_trial();
  }

 private:
  struct Batch {
    std::uint32_t releases;
  };
  using Cell = NativeAtomic<std::uint64_t>;
  static constexpr std::uint32_t kMostFound = 0xffff;
  // A cell contains the period (32 bits), how many threads found the lock taken in it (16), how
  // often the sleep is doubled (8), and the score (8), which goes up by one for each trial in which
  // one thread alone was faster, and down for others.
  struct Known {
    explicit Known(std::uint64_t v) noexcept
        : period(v >> 32),
          found(v >> 16 & 0xffff),
          doubled(v >> 8 & 0xff),
          score((v & 0xff) ^ kFirst) {}
    std::uint64_t value() const noexcept {
      return std::uint64_t{period} << 32 | found << 16 | doubled << 8 | (score ^ kFirst);
    }
    std::uint64_t sleep() const noexcept { return score >= kFaster ? kSleep << doubled : 0; }
    bool is_sure() const noexcept { return score == 0 || score == kSurely; }
    void begin(std::uint32_t now) noexcept {
      const std::uint32_t many = kMany >> doubled / 2;
      if (found > many && doubled < kMostDoubled) ++doubled;
      if (found < many / 2 && doubled > 0) --doubled;
      // If threads seldom find the lock taken, no trial would end the throttling.
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
  static std::uint32_t period() noexcept {
    return static_cast<std::uint32_t>(Clock::nearly_now() / kPeriod);
  }

  // --- the trial. Its state is the phase and the phase's start time.
  static constexpr std::uint64_t kRecovering = 0, kTogether = 1, kAlone = 2;
  static std::uint64_t since_in(std::uint64_t state) noexcept { return state >> 2; }
  static std::uint64_t phase_in(std::uint64_t state) noexcept { return state & 3; }

  // Returns false if the last trial was too recent, or another thread has begun one first.
  static bool begin(const void* word) noexcept {
    std::uint64_t state = state_.load(relaxed);
    const std::uint64_t now = Clock::now();
    if (now < since_in(state) + kPeriod) return false;
    if (!state_.compare_exchange(state, now << 2 | kRecovering, relaxed)) return false;
    count_.store(0, relaxed);
    word_.store(word, relaxed);
    return true;
  }
  // Begins the next phase, or ends the trial, if it is time. Returns how long the calling thread is
  // to sleep.
  static std::uint64_t go_on(const void* word, Cell& cell) noexcept {
    // Loaded before the clock is read, so that `since` <= now or the compare-exchange fails.
    std::uint64_t state = state_.load(relaxed);
    const std::uint64_t now = Clock::now(), since = since_in(state), phase = phase_in(state);
    const std::uint64_t passed = now > since ? now - since : 0;  // clocks may differ a little
    Known known(cell.load(relaxed));
    const std::uint64_t comes_back = known.sleep() != 0 ? 2 * known.sleep() + kRecovery : 0;
    const std::uint64_t lasts = phase == kRecovering ? comes_back : kPhase;
    if (passed < lasts) return phase == kAlone ? lasts - passed : 0;
    if (phase > kAlone) return 0;  // the trial is over
    // Only one thread gets past this.
    if (!state_.compare_exchange(state, now << 2 | (phase + 1), relaxed)) return 0;
    const std::uint64_t count = count_.exchange(0, relaxed);
    if (word_.load(relaxed) != word) return 0;  // another lock's trial
    if (phase == kRecovering) return 0;
    // If nobody found the lock taken for that long, it is no longer contended.
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

  static inline constinit NativeAtomic<const void*> word_{};  // the word of the lock under trial
  static inline constinit NativeAtomic<std::uint64_t> state_{};
  static inline constinit NativeAtomic<std::uint64_t> together_{};  // releases in phase kTogether
  alignas(64) static inline constinit NativeAtomic<std::uint64_t> count_{};
  static inline constinit AddressTable<Cell> cells_{};
};

using ContentionThrottle = TriesThrottling<TrialClock>;

}  // namespace lockswap
