// Lives of locks (recursive.h) in which a read hold was released by a thread that had no record of
// it.
//
// Such a release leaves a stale record in the thread that had acquired. It does no harm: the lock
// is marked. But a thread that never meets the lock again would keep the record for ever, and with
// it a place that its hot path needs. So the life is noted here, and a thread drops its records of
// noted lives when it comes by.
//
// A set that only grows, of fixed size. When it is full, stale records merely stay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"

namespace lockswap {

template <class P, std::size_t kSlots = 1 << 14>
class Disputed {
 public:
  void insert(std::uint32_t life) noexcept {
    for (std::size_t i = hash(life), n = 0; n < kProbes; ++n, i = (i + 1) % kSlots) {
      std::uint32_t seen = slots_[i].load(relaxed);
      // relaxed, all: nothing but the number is handed on.
      if (seen == life || (seen == 0 && slots_[i].compare_exchange(seen, life, relaxed)) ||
          seen == life) {
        any_.store(1, relaxed);
        return;
      }
    }
  }

  bool any() const noexcept { return any_.load(relaxed) != 0; }

  bool names(std::uint32_t life) const noexcept {
    for (std::size_t i = hash(life), n = 0; n < kProbes; ++n, i = (i + 1) % kSlots) {
      const std::uint32_t seen = slots_[i].load(relaxed);
      if (seen == life) return true;
      if (seen == 0) break;
    }
    return false;
  }

 private:
  static constexpr std::size_t kProbes = kSlots < 32 ? kSlots : 32;
  static std::size_t hash(std::uint32_t life) noexcept { return life * 0x9E3779B1u % kSlots; }

  typename P::template atomic<std::uint32_t> any_{};
  typename P::template atomic<std::uint32_t> slots_[kSlots]{};
};

}  // namespace lockswap
