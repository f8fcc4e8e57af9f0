// How long a thread that waits for a condition spins before it sleeps, if it is the only waiter.
//
// Two threads that hand work to each other are each the other's only waiter. Through the kernel a
// hand-off takes a sleep and a wake-up; between two running threads, a fraction of a microsecond.
// But most waits for conditions are long, and time spent spinning on those is wasted. So spin times
// are learned, per address of a condition variable:
//
// - A condition variable is hot if the last spin succeeded within kShort. Then a thread spins for
//   kShort, the price of a sleep.
// - It has a budget of processor time. A spin that succeeds adds what the sleep would have taken,
//   less its own time, and one that fails is charged to it. If the balance allows, a thread spins
//   for twice the mean wait, because if it stopped sooner, one preemption could put both to sleep.
//
// No condition variable starts out hot. A spin succeeds only if the other side is awake, and while
// each side sleeps whenever it waits, spins fail. The kernel may also keep both on one processor as
// long as one of them sleeps, and takes some ticks to separate them if neither does. So there are
// trials: for a while, every sole waiter spins for twice the mean wait, where that has been short.
// After a trial that makes nothing hot, the next one comes kPause trial lengths later and lasts
// twice as long; after kMostDoubled doublings only the pauses grow. So unsuccessful trials take up
// a twentieth of the time at most, and in the end less than a thousandth. Where waits are long, no
// thread spins for more than a moment (brief_spins.h).
//
// A long spin is counted (spinning_threads.h). Threads with real-time policies never spin for long.
// No spin continues past the wait's deadline.
//
// Two threads' concurrent stores may overwrite each other, which affects timing only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "platform/adaptive/brief_spins.h"
#include "platform/adaptive/spinning_threads.h"
#include "platform/adaptive/spins.h"
#include "platform/address_table.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/real_time.h"

namespace lockswap {

struct EventMachine {
  static std::uint64_t now() noexcept { return monotonic_ns(); }
  static std::uint64_t until(const Deadline& d, std::uint64_t most) noexcept {
    return ns_until(d.clock, d.at, most);
  }
  static bool has_real_time_policy() noexcept { return lockswap::has_real_time_policy(); }
};

// One for each wait of a thread that is the only waiter. While more() returns true the thread
// pauses and polls. It calls succeeded() if the condition came, or sleeps() before it sleeps, and
// destroys this object at the end of the wait.
template <class Machine>
class SpinsForEvents {
 public:
  // Times are in nanoseconds.
  static constexpr std::uint32_t kSleep = 4'000;  // CPU time of a sleep and wake-up, on both CPUs
  static constexpr std::uint32_t kShort = kSleep;
  static constexpr std::uint32_t kMostDebt = 4 * kShort;
  static constexpr std::uint32_t kRepaid = kSleep / 20;  // the debt that each sleep cancels
  static constexpr std::uint32_t kPerPause = 200;        // the longest spin, per LOCKSWAP_SPIN
  static constexpr std::uint32_t kLongest = 5'000'000;
  static constexpr std::uint32_t kPausesPerLook = 32;  // pauses between two reads of the clock
  static constexpr std::uint32_t kSoon = 500;          // assumed for spins without a clock read
  static constexpr std::uint32_t kSeldom = 8;          // one sleep in this many is timed
  static constexpr std::uint64_t kFirstTrial = 10'000'000;            // after the first short wait
  static constexpr std::uint64_t kTrial = 20'000'000;                 // length of the first trial
  static constexpr std::uint64_t kPause = 20;                         // pause, in trial lengths
  static constexpr std::uint32_t kMostDoubled = 4, kMostPauses = 10;  // most doublings of each
  static constexpr std::uint64_t kMostSaved = 300'000'000;            // largest balance
  static constexpr std::uint64_t kTimeToConfirm = 1'000'000;  // time left to a trial that succeeds

  explicit SpinsForEvents(const void* at) noexcept
      : cell_(cells_[at]), longest_(longest()), known_(cell_.load(relaxed)) {
    if (longest_ != 0) plan_ = plan();  // relaxed, here and below: see the head
  }
  ~SpinsForEvents() noexcept {
    stop();
    if (longest_ != 0) learn();
  }
  SpinsForEvents(const SpinsForEvents&) = delete;
  SpinsForEvents& operator=(const SpinsForEvents&) = delete;

  bool begins() const noexcept { return plan_ != 0; }
  // Called when the spin begins, if the wait has a deadline.
  void ends_by(const Deadline& d) noexcept { plan_ = Machine::until(d, plan_); }
  bool more() noexcept {
    if (plan_ == 0) return false;
    return ++pauses_ % kPausesPerLook != 0 || goes_on();
  }
  void succeeded() noexcept {
    succeeded_ = true;
    stop();
  }
  void sleeps() noexcept {
    stop();
    if (longest_ == 0) return;
    sleeps_ = true;
    is_timed_ = begin_ != 0 || known_.turn == 0 || known_.account > 0;
    if (is_timed_ && begin_ == 0) begin_ = Machine::now();
  }

  // For tests: forget_cell forgets the cell of a condition variable, which others may share; forget
  // also forgets all trials. is_hot returns whether it is hot.
  static void forget_cell(const void* at) noexcept { cells_[at].store(0, relaxed); }
  static void forget(const void* at) noexcept {
    forget_cell(at);
    trial_ends_.store(0, relaxed);
    next_trial_.store(0, relaxed);
    doubled_.store(0, relaxed);
  }
  static bool is_hot(const void* at) noexcept { return Known(cells_[at].load(relaxed)).is_hot; }

 private:
  using Cell = NativeAtomic<std::uint64_t>;
  // A cell contains the balance plus the largest debt (32 bits), the mean wait (28), whether the
  // condition variable is hot (1), and a counter modulo kSeldom (3).
  struct Known {
    explicit Known(std::uint64_t v) noexcept
        : account(v == 0 ? 0 : static_cast<std::int64_t>(v >> 32) - kMostDebt),
          mean(v >> 4 & kMostMean),
          is_hot((v >> 3 & 1) != 0),
          turn(v % kSeldom) {}
    std::uint64_t value() const noexcept {
      return static_cast<std::uint64_t>(account + kMostDebt) << 32 | mean << 4 |
             std::uint64_t{is_hot} << 3 | turn;
    }
    void book(std::int64_t more, std::uint64_t most) noexcept {
      account = std::clamp<std::int64_t>(account + more, -std::int64_t{kMostDebt},
                                         static_cast<std::int64_t>(most));
    }
    // Moves the mean by a quarter of the difference, so that it follows within a few waits.
    void waited(std::uint64_t ns) noexcept {
      ns = std::min(ns, kMostMean);
      mean = mean == 0 ? ns : ns > mean ? mean + (ns - mean) / 4 : mean - (mean - ns) / 4;
    }
    static constexpr std::uint64_t kMostMean = (1u << 28) - 1;
    std::int64_t account;
    std::uint64_t mean;
    bool is_hot;
    std::uint64_t turn;
  };
  static_assert(kSeldom == 1u << 3);

  static std::uint64_t longest() noexcept {
    return std::min<std::uint64_t>(std::uint64_t{Spins::most()} * kPerPause, kLongest);
  }
  bool waits_are_short() const noexcept { return known_.mean != 0 && known_.mean <= longest_; }

  std::uint64_t plan() const noexcept {
    const std::uint64_t all = std::clamp<std::uint64_t>(2 * known_.mean, longest_ / kTry, longest_);
    const bool is_covered = known_.account >= static_cast<std::int64_t>(all);
    if (waits_are_short() && (is_covered || trial_ends_.load(relaxed) != 0)) return all;
    const bool has_credit = known_.account > -std::int64_t{kMostDebt};
    return known_.is_hot && has_credit ? std::min<std::uint64_t>(kShort, longest_) : 0;
  }

  // Reads the clock. Returns false if the thread has to sleep.
  [[gnu::noinline]] bool goes_on() noexcept {
    const std::uint64_t now = Machine::now();
    if (begin_ == 0) begin_ = now - 2 * kSoon;
    took_ = now - begin_;
    if (took_ < plan_ && (took_ < kShort || counted_ || enter())) return true;
    plan_ = 0;
    return false;
  }
  // The sleep after a spin may last for hours, and others may spin meanwhile.
  void stop() noexcept {
    if (std::exchange(counted_, false)) SpinningThreads::leave();
  }
  bool enter() noexcept {
    return counted_ = !Machine::has_real_time_policy() && SpinningThreads::enter();
  }

  void learn() noexcept {
    const std::uint64_t was = known_.value();
    if (succeeded_) {
      succeeds(std::max<std::uint64_t>(took_, kSoon));
    } else {
      if (pauses_ != 0) fails(took_);
      if (sleeps_ && known_.account < 0) known_.book(kRepaid, 0);
      if (is_timed_) slept(Machine::now());
      known_.turn = (known_.turn + 1) % kSeldom;
    }
    if (known_.value() != was) cell_.store(known_.value(), relaxed);
  }
  void succeeds(std::uint64_t took) noexcept {
    known_.book(std::int64_t{kSleep} - static_cast<std::int64_t>(took), kMostSaved);
    known_.waited(took);
    if (took > kShort) ends_trial(begin_ + took);
    if (took > kShort || known_.is_hot) return;
    known_.is_hot = true;
    if (const std::uint64_t ends = trial_ends_.load(relaxed); ends != 0) {
      doubled_.store(0, relaxed);
      trial_ends_.store(std::min(ends, Machine::now() + kTimeToConfirm), relaxed);
    }
  }
  // The cost of a failed trial beyond the balance is recovered by delaying the next trial.
  void fails(std::uint64_t took) noexcept {
    known_.is_hot = false;
    if (trial_ends_.load(relaxed) == 0 || known_.account > 0)
      known_.book(-static_cast<std::int64_t>(took), kMostSaved);
  }
  void slept(std::uint64_t now) noexcept {
    known_.waited(now - begin_);
    if (!known_.is_hot && waits_are_short()) begins_or_ends_trial(now);
  }

  // Ends a trial whose time is over.
  static void ends_trial(std::uint64_t now) noexcept {
    const std::uint64_t ends = trial_ends_.load(relaxed);
    if (ends != 0 && now >= ends) trial_ends_.store(0, relaxed);
  }
  // The same, and begins a trial that is due.
  static void begins_or_ends_trial(std::uint64_t now) noexcept {
    std::uint64_t next = next_trial_.load(relaxed);
    if (trial_ends_.load(relaxed) != 0) {
      ends_trial(now);
    } else if (next == 0) {
      next_trial_.store(now + kFirstTrial, relaxed);
    } else if (now >= next) {
      const std::uint32_t doubled = doubled_.load(relaxed);
      if (!next_trial_.compare_exchange(next, now + (kPause * kTrial << doubled), relaxed)) return;
      doubled_.store(std::min(doubled + 1, kMostPauses), relaxed);
      trial_ends_.store(now + (kTrial << std::min(doubled, kMostDoubled)), relaxed);
    }
  }

  static constexpr std::uint32_t kTry = 8;  // the shortest trial spin is the longest spin over this

  static inline constinit AddressTable<Cell, 256> cells_{};
  alignas(64) static inline constinit NativeAtomic<std::uint64_t> trial_ends_{};  // 0 if none
  static inline constinit NativeAtomic<std::uint64_t> next_trial_{};
  static inline constinit NativeAtomic<std::uint32_t> doubled_{};  // doublings of trial and pause

  Cell& cell_;
  const std::uint64_t longest_;
  Known known_;
  std::uint64_t plan_ = 0;   // longest time to spin
  std::uint64_t begin_ = 0;  // when the wait began, or 0 if not known
  std::uint64_t took_ = 0;   // time since then, at the last read of the clock
  std::uint32_t pauses_ = 0;
  bool counted_ = false;
  bool succeeded_ = false;
  bool sleeps_ = false;
  bool is_timed_ = false;
};

// The same, with a brief spin (brief_spins.h) if no long one begins. If that succeeds, the
// condition variable becomes hot as well.
class EventSpins {
 public:
  explicit EventSpins(const void* at) noexcept : long_(at), brief_(at), is_long_(long_.begins()) {}

  // May be called once.
  bool begins() noexcept { return is_long_ || brief_.begins(); }
  void ends_by(const Deadline& d) noexcept {
    if (is_long_) long_.ends_by(d);
  }
  bool more() noexcept { return is_long_ ? long_.more() : brief_.more(); }
  void succeeded() noexcept {
    long_.succeeded();
    brief_.succeeded();
  }
  void sleeps() noexcept { long_.sleeps(); }

 private:
  SpinsForEvents<EventMachine> long_;
  BriefSpins brief_;
  bool is_long_;
};

}  // namespace lockswap
