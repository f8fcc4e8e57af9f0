// Decides whether a thread that finds another waiter being woken backs off (sleeps for a moment and
// rechecks) before it queues, by how often such a recheck has found the lock busy lately.
//
// The recheck comes at a random moment, so the share of rechecks that find the lock busy is the
// share of the time for which it is held. If that is small, another running thread is a gain; if it
// is large, two running threads only take the lock from each other. Even then, one thread in kTries
// backs off, because the load may change. Nobody backs off where nobody spins, since two threads
// don't run at the same time there, or not for a long time.
//
// Two threads' concurrent stores may overwrite each other, which affects timing only.
#pragma once

#include <cstdint>

#include "platform/adaptive/spins.h"
#include "platform/address_table.h"
#include "platform/atomic.h"

namespace lockswap {

class Backoff {
 public:
  static constexpr std::uint32_t kTries = 32;

  // Called once by each thread that could back off.
  static bool should_sleep(const void* at) noexcept {
    if (Spins::most() == 0) return false;
    Cell& cell = cells_[at];
    const std::uint32_t v = cell.load(relaxed);  // relaxed, here and below: see the head
    if (rate_in(v) < kHigh) return true;
    const std::uint32_t turn = (turn_in(v) + 1) % kTries;
    store(cell, turn, rate_in(v));
    return turn == 0;
  }
  static void learn(const void* at, bool was_busy) noexcept {
    Cell& cell = cells_[at];
    const std::uint32_t v = cell.load(relaxed);
    const std::uint32_t rate = rate_in(v);
    const std::uint32_t next = was_busy ? rate + (kAlways - rate) / kSlow : rate - rate / kSlow;
    store(cell, turn_in(v), next);
  }
  // For tests: forgets the cell of this word, which other locks may share.
  static void forget(const void* at) noexcept { cells_[at].store(0, relaxed); }

 private:
  using Cell = NativeAtomic<std::uint16_t>;
  // A cell contains a counter modulo kTries (5 bits) and the rate (11), which starts at kFirst, so
  // that a few rechecks decide.
  static constexpr int kTurnShift = 11;
  static constexpr std::uint32_t kAlways = (1u << kTurnShift) - 1;
  static constexpr std::uint32_t kFirst = kAlways * 3 / 10;
  static constexpr std::uint32_t kHigh = kAlways * 2 / 5;
  static constexpr std::uint32_t kSlow = 64;  // each recheck moves the rate by 1/kSlow of the way
  static_assert(kTries << kTurnShift == 1u << 16);
  static std::uint32_t turn_in(std::uint32_t v) noexcept { return v >> kTurnShift; }
  static std::uint32_t rate_in(std::uint32_t v) noexcept { return (v & kAlways) ^ kFirst; }
  static void store(Cell& cell, std::uint32_t turn, std::uint32_t rate) noexcept {
    cell.store(static_cast<std::uint16_t>(turn << kTurnShift | (rate ^ kFirst)), relaxed);
  }

  static inline constinit AddressTable<Cell> cells_{};
};

}  // namespace lockswap
