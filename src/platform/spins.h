// How long a thread that waits spins before it sleeps: as long as spinning has brought something at
// that word lately, and only while a processor is left for it.
//
// What is learned stands in a table by the word's address: the mean of the pauses after which a
// thread that spun went on, where a thread that had to sleep counts as none. A thread spins for
// twice the mean, so it goes on spinning where half of the spins bring something: it is the hold
// and hand-over times of that lock that count, and whether a spinner gets it. Now and then one
// spins for the whole budget, since times change. At most LOCKSWAP_SPIN pauses; 0 on one processor.
//
// A spin that lasts is counted: not more threads of the process spin than the processors that are
// left beside a holder. Short ones are not, as the count is a word that all of them write to.
//
// What two threads write at once may be lost: it decides nothing but times.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/process.h"
#include "platform/processors.h"

namespace lockswap {

// A thread's spin at a word: while more(), it pauses and looks, and says won() if that was enough.
class Spins {
 public:
  static constexpr std::uint32_t kFewest = 10;    // pauses that are always tried
  static constexpr std::uint32_t kShort = 16;     // pauses that are not counted
  static constexpr std::uint32_t kTriesAll = 32;  // one spin in so many takes the whole budget

  // At start-up, by one thread.
  static void prepare(std::uint32_t most, const Processors& p) noexcept {
    most_ = worth_spinning(most, p);
    beside_ = std::max<std::uint32_t>(p.whole(), 2) - 1;
  }
  static std::uint32_t most() noexcept { return most_; }

  explicit Spins(const void* at) noexcept : cell_(cell_of(at)) {
    if (most_ == 0) return;
    const std::uint32_t v = cell_.load(relaxed);  // relaxed, here and below: see the head
    tries_all_ = v >> kTurnShift == 0;
    left_ = tries_all_ ? most_ : std::min(most_, 2 * ((v & kSum) / kWeight) + kFewest);
  }
  ~Spins() noexcept {
    if (counted_) leave();
    if (most_ != 0) learn();
  }
  Spins(const Spins&) = delete;
  Spins& operator=(const Spins&) = delete;

  bool more() noexcept {
    if (left_ == 0) return false;
    if (done_ == kShort && !enter()) {
      left_ = 0;
      return false;
    }
    --left_;
    ++done_;
    return true;
  }
  void won() noexcept { won_ = true; }

  // For tests: the mean at a word.
  static std::uint32_t mean(const void* at) noexcept {
    return (cell_of(at).load(relaxed) & kSum) / kWeight;
  }

 private:
  using Cell = NativeAtomic<std::uint32_t>;
  // A cell: which turn of kTriesAll it is (8 bits), and kWeight times the mean.
  static constexpr int kTurnShift = 24;
  static constexpr std::uint32_t kSum = (1u << kTurnShift) - 1;
  static constexpr std::uint32_t kWeight = 8;
  static_assert(kWeight * 1'000'000u <= kSum);
  static constexpr std::size_t kCells = 1024;

  static Cell& cell_of(const void* at) noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(at) >> 3;
    return cells_[(a ^ a >> 10 ^ a >> 20) % kCells];
  }

  void learn() noexcept {
    const std::uint32_t v = cell_.load(relaxed);
    const std::uint32_t sum = v & kSum;
    std::uint32_t next = sum - (sum + kWeight - 1) / kWeight;
    if (won_) next += done_;
    // What only such a spin could find out counts at once, or it would be forgotten before the next.
    if (won_ && tries_all_) next = std::max(next, kWeight * done_);
    const std::uint32_t turn = ((v >> kTurnShift) + 1) % kTriesAll;
    // Where nobody has to spin for long there is nothing to learn, and the line stays shared.
    if (won_ && done_ <= kFewest && sum / kWeight <= kFewest) return;
    cell_.store(turn << kTurnShift | std::min(next, kSum), relaxed);
  }

  // The count, below the mark of the process: a child begins with none.
  static constexpr std::uint64_t kCount = (1u << 16) - 1;
  static std::uint32_t count_in(std::uint64_t v, std::uint64_t mark) noexcept {
    return (v & ~kCount) == mark ? static_cast<std::uint32_t>(v & kCount) : 0;
  }
  bool enter() noexcept {
    const std::uint64_t mark = Process::mark() & ~kCount;
    std::uint64_t v = spinning_.load(relaxed);
    do {
      if (count_in(v, mark) >= beside_) return false;
    } while (!spinning_.compare_exchange(v, mark | (count_in(v, mark) + 1), relaxed));
    counted_ = true;
    return true;
  }
  static void leave() noexcept {
    const std::uint64_t mark = Process::mark() & ~kCount;
    std::uint64_t v = spinning_.load(relaxed);
    while (count_in(v, mark) != 0 && !spinning_.compare_exchange(v, v - 1, relaxed)) {}
  }

  static inline constinit std::uint32_t most_ = 0;
  static inline constinit std::uint32_t beside_ = 1;
  alignas(64) static inline constinit std::array<Cell, kCells> cells_{};
  alignas(64) static inline constinit NativeAtomic<std::uint64_t> spinning_{};

  Cell& cell_;
  std::uint32_t left_ = 0;
  std::uint32_t done_ = 0;
  bool tries_all_ = false;
  bool counted_ = false;
  bool won_ = false;
};

}  // namespace lockswap
