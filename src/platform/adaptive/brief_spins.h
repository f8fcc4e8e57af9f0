// Decides whether a thread that waits for a condition spins briefly before it sleeps, for kPauses,
// which take about a microsecond. If it is the only waiter and a long spin pays, event_spins.h
// decides instead.
//
// If producers and consumers keep two processors busy, the condition is often met while a waiting
// thread would still be falling asleep. The sleep and its wake-up take several times as long as the
// spin, so spinning pays if one spin in eight succeeds. The share of successes is learned per
// address of a condition variable. If fewer succeed, only one wait in kSeldom spins, to notice when
// the load changes. Nobody spins on one processor.
//
// Two threads' concurrent stores may overwrite each other, which affects timing only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "platform/adaptive/spins.h"
#include "platform/address_table.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap {

// One for each wait. If begins() returns false, the thread must sleep at once. While more() returns
// true, it pauses and polls, and it calls succeeded() if the condition is met.
class BriefSpins {
 public:
  static constexpr std::uint32_t kPauses = 50;
  static constexpr std::uint32_t kSeldom = 16;

  explicit BriefSpins(const void* at) noexcept : cell_(cells_[at]) {}
  ~BriefSpins() noexcept {
    if (has_begun_) learn();
  }
  BriefSpins(const BriefSpins&) = delete;
  BriefSpins& operator=(const BriefSpins&) = delete;

  // May be called once.
  bool begins() noexcept {
    if (Spins::most() == 0) return false;
    const std::uint32_t v = cell_.load(relaxed);  // relaxed, here and below: see the head
    if (rate_in(v) < kLeastRate && turn_in(v) != 0) {
      store((turn_in(v) + 1) % kSeldom, rate_in(v));
      return false;
    }
    left_ = std::min(kPauses, Spins::most());
    return has_begun_ = true;
  }
  void ends_by(const Deadline&) const noexcept {}  // it takes a microsecond
  bool more() noexcept { return left_ != 0 && left_-- != 0; }
  void succeeded() noexcept { succeeded_ = true; }
  void sleeps() const noexcept {}

  // For tests: forgets the cell of a condition variable, which others may share.
  static void forget(const void* at) noexcept { cells_[at].store(0, relaxed); }

 private:
  using Cell = NativeAtomic<std::uint16_t>;
  // A cell contains a counter modulo kSeldom (8 bits), and the share of spins that succeeded, in
  // units of 1/255 (8), which moves by an eighth of the difference with each spin.
  static constexpr std::uint32_t kMostRate = 255, kLeastRate = 32;
  static std::uint32_t turn_in(std::uint32_t v) noexcept { return v >> 8; }
  static std::uint32_t rate_in(std::uint32_t v) noexcept { return v & kMostRate; }
  void store(std::uint32_t turn, std::uint32_t rate) noexcept {
    cell_.store(static_cast<std::uint16_t>(turn << 8 | rate), relaxed);
  }
  void learn() noexcept {
    const std::uint32_t rate = rate_in(cell_.load(relaxed));
    const std::uint32_t next =
        succeeded_ ? rate + (kMostRate - rate + 7) / 8 : rate - (rate + 7) / 8;
    // If all spins succeed there is nothing to learn, and the cache line stays shared.
    if (next != rate || !succeeded_) store(1, next);
  }

  static inline constinit AddressTable<Cell> cells_{};

  Cell& cell_;
  std::uint32_t left_ = 0;
  bool has_begun_ = false;
  bool succeeded_ = false;
};

}  // namespace lockswap
