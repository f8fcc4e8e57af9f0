// Whether a thread that waits for an open lock naps and looks again, before it joins those that are
// woken: by how often such a look has found the lock busy lately.
//
// The look comes at a moment that has nothing to do with the lock, so it finds the lock busy for
// the part of the time for which it is held. Where that is small, another running thread is a
// gain; where it is large, two running threads only take the lock from each other. There one
// thread in kTries naps all the same, since times change. Nobody naps where nobody spins, as no two
// threads run there at the same time, or not for long.
//
// What is learned stands in a table by the word's address. What two threads write at once may be
// lost: it decides nothing but times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/by_address.h"
#include "platform/spins.h"

namespace lockswap {

class Naps {
 public:
  static constexpr std::uint32_t kTries = 32;

  // Asked once by each thread that could nap.
  static bool are_worth(const void* at) noexcept {
    if (Spins::most() == 0) return false;
    Cell& cell = cell_of(at);
    const std::uint32_t v = cell.load(relaxed);  // relaxed, here and below: see the head
    if (rate_in(v) < kHigh) return true;
    const std::uint32_t turn = (turn_in(v) + 1) % kTries;
    store(cell, turn, rate_in(v));
    return turn == 0;
  }
  static void learn(const void* at, bool was_busy) noexcept {
    Cell& cell = cell_of(at);
    const std::uint32_t v = cell.load(relaxed);
    const std::uint32_t rate = rate_in(v);
    const std::uint32_t next = was_busy ? rate + (kAlways - rate) / kSlow : rate - rate / kSlow;
    store(cell, turn_in(v), next);
  }
  // For tests: what was learned at a word, which may be another's that has the same cell.
  static void forget(const void* at) noexcept { cell_of(at).store(0, relaxed); }

 private:
  using Cell = NativeAtomic<std::uint16_t>;
  // A cell: the turn (5 bits), the rate (11), which is kFirst where nothing is known, so that a few
  // looks decide.
  static constexpr int kTurnShift = 11;
  static constexpr std::uint32_t kAlways = (1u << kTurnShift) - 1;
  static constexpr std::uint32_t kFirst = kAlways * 3 / 10;
  static constexpr std::uint32_t kHigh = kAlways * 2 / 5;
  static constexpr std::uint32_t kSlow = 64;  // the rate follows by that part
  static constexpr std::size_t kCells = 1024;
  static_assert(kTries << kTurnShift == 1u << 16);
  static std::uint32_t turn_in(std::uint32_t v) noexcept { return v >> kTurnShift; }
  static std::uint32_t rate_in(std::uint32_t v) noexcept { return (v & kAlways) ^ kFirst; }
  static void store(Cell& cell, std::uint32_t turn, std::uint32_t rate) noexcept {
    cell.store(static_cast<std::uint16_t>(turn << kTurnShift | (rate ^ kFirst)), relaxed);
  }
  static Cell& cell_of(const void* at) noexcept { return cells_[by_address(at, kCells)]; }

  alignas(64) static inline constinit std::array<Cell, kCells> cells_{};
};

}  // namespace lockswap
