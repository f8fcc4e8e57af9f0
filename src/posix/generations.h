// Generations of locks. Memory that was a lock may become another lock while a thread still has a
// record of the first (holds.h). So each new lock gets a number, its generation, and a record is
// valid for that generation only.
//
// Disputed generations: those in which a thread without a record released a read hold. The thread
//   that had acquired that hold keeps a record that is now wrong. It does no harm at this lock,
//   which is marked (marked.h). But a thread that never uses the lock again would keep the record
//   for ever, and with it an entry that its fast path needs. So the generation is noted here, and a
//   thread that acquires any lock drops its records of noted generations.
// State: a hash set of fixed size, which only grows. When it is full, wrong records merely stay.
// Reuse: after kMost locks the numbers start again, without the disputed ones. If more were
//   disputed than fit into the set, any number may have a wrong record, and records of new locks
//   are never trusted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

struct Generation {
  std::uint32_t number;  // from 1 to kMost
  bool trusted;          // whether records of it may be trusted
};

// Which numbers the locks of one algorithm get: those that are `mine` modulo `of`. So a number
// shows the algorithm if the process has locks of several. All zeroes: any number.
struct NumberShare {
  std::uint32_t of;
  std::uint32_t mine;  // 1 to of - 1
};

template <Platform P, std::uint32_t kMost, std::size_t kSlots = 1 << 14>
class Generations {
 public:
  Generation begin(NumberShare share = {}) noexcept {
    if (share.of == 0) share = {1, 1};
    const std::uint32_t numbers = kMost / share.of;
    for (;;) {
      // relaxed: numbers only have to differ.
      const std::uint64_t n = begun_.fetch_add(1, relaxed);
      const auto number = static_cast<std::uint32_t>(n % numbers) * share.of + share.mine;
      if (n < numbers) return {number, true};
      if (!is_disputed(number)) return {number, !overflowed_.load(relaxed)};
    }
  }

  // All relaxed: only the number is published. A number is used again only after the release that
  // disputed it, because the program has ordered that before the memory could become another lock.
  void dispute(std::uint32_t number) noexcept {
    any_.store(1, relaxed);
    for (std::size_t i = hash(number), n = 0; n < kProbes; ++n, i = (i + 1) % kSlots) {
      std::uint32_t seen = slots_[i].load(relaxed);
      if (seen == number || (seen == 0 && slots_[i].compare_exchange(seen, number, relaxed)) ||
          seen == number) {
        return;
      }
    }
    overflowed_.store(1, relaxed);
  }
  bool any_disputed() const noexcept { return any_.load(relaxed) != 0; }
  // Returns whether a lock of that generation can be marked.
  bool may_be_disputed(std::uint32_t number) const noexcept {
    return is_disputed(number) || overflowed_.load(relaxed) != 0;
  }
  bool is_disputed(std::uint32_t number) const noexcept {
    for (std::size_t i = hash(number), n = 0; n < kProbes; ++n, i = (i + 1) % kSlots) {
      const std::uint32_t seen = slots_[i].load(relaxed);
      if (seen == number) return true;
      if (seen == 0) break;
    }
    return false;
  }

 private:
  static constexpr std::size_t kProbes = kSlots < 32 ? kSlots : 32;
  static std::size_t hash(std::uint32_t number) noexcept { return number * 0x9E3779B1u % kSlots; }

  typename P::template atomic<std::uint64_t> begun_{};
  typename P::template atomic<std::uint32_t> any_{};
  typename P::template atomic<std::uint32_t> overflowed_{};
  typename P::template atomic<std::uint32_t> slots_[kSlots]{};
};

}  // namespace lockswap
