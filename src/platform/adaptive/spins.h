// How long a waiting thread spins before it sleeps. That depends on how often spinning at that word
// has succeeded lately, and on whether a processor is left for it.
//
// The share of spins that succeeded, and after how many pauses, is learned per address. If at least
// one in eight succeeds, a thread spins for kUsual pauses, or for twice the mean of the successful
// spins, up to LOCKSWAP_SPIN. So long holds and slow hand-offs lead to long spins. If fewer
// succeed, it spins for kFewest, and now and then for the whole budget, because the load may
// change. Nobody spins on one processor.
//
// The processors may change while the program runs: rereading.h.
//
// A long spin is counted (spinning_threads.h). Short ones are not, because all of them would write
// to that one counter.
//
// Two threads' concurrent stores may overwrite each other, which affects timing only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/adaptive/spinning_threads.h"
#include "platform/address_table.h"
#include "platform/atomic.h"
#include "platform/processors.h"

namespace lockswap {

// A thread's spin at a word. While more() returns true the thread pauses and polls, and it calls
// succeeded() if the word changed as it hoped.
class Spins {
 public:
  static constexpr std::uint32_t kFewest = 10;    // pauses at words where spinning fails
  static constexpr std::uint32_t kUsual = 50;     // least pauses at words where it succeeds
  static constexpr std::uint32_t kShort = 50;     // longer spins are counted
  static constexpr std::uint32_t kTriesAll = 32;  // one spin in this many takes the whole budget

  // Called at start-up, by one thread.
  static void prepare(std::uint32_t most, const Processors& p) noexcept {
    asked_ = most;
    adapt(p);
  }
  // May be called by any thread, one at a time. relaxed: it does not matter whether threads that
  // spin meanwhile use the old or the new value.
  static void adapt(const Processors& p) noexcept {
    most_.store(worth_spinning(asked_, p), relaxed);
    SpinningThreads::adapt(p);
  }
  static std::uint32_t most() noexcept { return most_.load(relaxed); }

  explicit Spins(const void* at) noexcept : cell_(cells_[at]), may_(most()) {
    if (may_ == 0) return;
    const std::uint32_t v = cell_.load(relaxed);  // relaxed, here and below: see the head
    tries_all_ = turn_in(v) == 0;
    left_ = tries_all_                ? may_
            : rate_in(v) < kLeastRate ? std::min(may_, kFewest)
                                      : std::min(may_, std::max(kUsual, 2 * mean_in(v)));
  }
  ~Spins() noexcept {
    if (counted_) SpinningThreads::leave();
    if (may_ != 0) learn();
  }
  Spins(const Spins&) = delete;
  Spins& operator=(const Spins&) = delete;

  bool more() noexcept {
    if (left_ == 0) return false;
    if (done_ == kShort && !(counted_ = SpinningThreads::enter())) {
      left_ = 0;
      return false;
    }
    --left_;
    ++done_;
    return true;
  }
  void succeeded() noexcept { succeeded_ = true; }

  // For tests: returns the mean of the spins that succeeded at a word.
  static std::uint32_t mean(const void* at) noexcept { return mean_in(cells_[at].load(relaxed)); }
  // For tests: forgets the cell of this word, which other locks may share.
  static void forget(const void* at) noexcept { cells_[at].store(0, relaxed); }

 private:
  using Cell = NativeAtomic<std::uint32_t>;
  // A cell contains a counter modulo kTriesAll (5 bits), the success rate in units of 1/255 (8),
  // and the mean (19). Each spin moves rate and mean by an eighth of the difference.
  static constexpr int kTurnShift = 27;
  static constexpr int kRateShift = 19;
  static constexpr std::uint32_t kMostRate = 255;
  static constexpr std::uint32_t kLeastRate = 32;
  static constexpr std::uint32_t kMostMean = (1u << kRateShift) - 1;
  static_assert(1u << (32 - kTurnShift) == kTriesAll);
  static std::uint32_t turn_in(std::uint32_t v) noexcept { return v >> kTurnShift; }
  static std::uint32_t rate_in(std::uint32_t v) noexcept { return v >> kRateShift & kMostRate; }
  static std::uint32_t mean_in(std::uint32_t v) noexcept { return v & kMostMean; }
  static std::uint32_t follow(std::uint32_t mean, std::uint32_t one) noexcept {
    return one > mean ? mean + (one - mean + 7) / 8 : mean - (mean - one + 7) / 8;
  }

  void learn() noexcept {
    const std::uint32_t v = cell_.load(relaxed);
    const std::uint32_t rate = follow(rate_in(v), succeeded_ ? kMostRate : 0);
    const std::uint32_t mean =
        succeeded_ ? follow(mean_in(v), std::min(done_, kMostMean)) : mean_in(v);
    // If short spins suffice there is nothing to learn, and the cache line stays shared.
    if (succeeded_ && rate_in(v) == kMostRate && mean <= kUsual / 2) return;
    cell_.store((turn_in(v) + 1) % kTriesAll << kTurnShift | rate << kRateShift | mean, relaxed);
  }

  static inline constinit std::uint32_t asked_ = 0;             // LOCKSWAP_SPIN
  static inline constinit NativeAtomic<std::uint32_t> most_{};  // 0 if there are too few processors
  static inline constinit AddressTable<Cell> cells_{};

  Cell& cell_;
  const std::uint32_t may_;  // the limit on pauses
  std::uint32_t left_ = 0;
  std::uint32_t done_ = 0;
  bool tries_all_ = false;
  bool counted_ = false;
  bool succeeded_ = false;
};

}  // namespace lockswap
