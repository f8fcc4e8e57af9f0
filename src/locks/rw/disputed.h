// Addresses of locks on which a read hold was released by a thread that had no record of it.
//
// Such a release leaves a stale record in the thread that had acquired. While the lock lives it is
// marked (recursive.h), but the mark dies with the lock, the record does not: another lock may be
// made at the address later. So the address is remembered here, and a lock adopted at such an
// address is marked from the start.
//
// A set that only grows, of fixed size. When it is full every address counts as disputed, which is
// always safe: marked locks keep no records.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"

namespace lockswap {

template <class P, std::size_t kSlots = 1 << 14>
class Disputed {
 public:
  void insert(std::uint64_t key) noexcept {
    for (std::size_t i = hash(key), n = 0; n < kProbes; ++n, i = (i + 1) % kSlots) {
      std::uint64_t seen = slots_[i].load(relaxed);
      // relaxed: who must find the address has been synchronised with this release by the program.
      if (seen == key || (seen == 0 && slots_[i].compare_exchange(seen, key, relaxed)) ||
          seen == key) {
        any_.store(1, relaxed);
        return;
      }
    }
    full_.store(1, relaxed);
    any_.store(1, relaxed);
  }

  bool any() const noexcept { return any_.load(relaxed) != 0; }

  // May say yes for an address that is not there, once the set is full.
  bool contains(std::uint64_t key) const noexcept {
    return any() && (names(key) || full_.load(relaxed) != 0);
  }

  bool names(std::uint64_t key) const noexcept {
    for (std::size_t i = hash(key), n = 0; n < kProbes; ++n, i = (i + 1) % kSlots) {
      const std::uint64_t seen = slots_[i].load(relaxed);
      if (seen == key) return true;
      if (seen == 0) break;
    }
    return false;
  }

 private:
  static constexpr std::size_t kProbes = kSlots < 32 ? kSlots : 32;
  static std::size_t hash(std::uint64_t key) noexcept {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 40) % kSlots;
  }

  typename P::template atomic<std::uint32_t> any_{};
  typename P::template atomic<std::uint32_t> full_{};
  typename P::template atomic<std::uint64_t> slots_[kSlots]{};
};

}  // namespace lockswap
