// BRAVO's visible readers table. A process has one, which all locks and threads share.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019), section 3.
// State: a slot is 0, or the key (address) of a lock that a fast-path reader holds. Bit 0 of an
//   occupied slot says that a revoker sleeps on it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/concept.h"

namespace lockswap {

template <Platform P>
struct ReadersTable {
  using Slot = typename P::template atomic<std::uint64_t>;

  Slot* slots;          // 64-byte aligned
  std::uint32_t mask;   // number of slots - 1; the number is a power of two, at least 16
  std::uint32_t guard;  // the paper's N: no bias for N times as long as a revocation took

  static constexpr std::uint64_t kRevokerSleeps = 1;

  // Returns the token of the slot in which the calling thread publishes itself for `key`: the
  // slot's index plus 1. It is always the same slot, so that the thread finds the line in its
  // cache. The hash is the paper's choice: Mix32 of Steele, Lea, Flood, "Fast splittable
  // pseudorandom number generators" (OOPSLA 2014), over lock address and thread identity.
  // The thread caches the last token and kRecent before it, as hashing takes longer. (A signal
  // handler may mix the two words up, but any slot is right, since a hold remembers its own.)
  [[gnu::always_inline]] std::size_t token_of(std::uint64_t key) const noexcept {
    Known& last = P::template local<Known>();
    if (last.key != key) [[unlikely]] {
      last.token = recent_token_of(key);
      last.key = key;
    }
    return last.token;
  }

  // A key's address selects its place in the cache; keys kRecent lines apart share a place.
  static constexpr std::uint64_t kRecent = 16, kLine = 64;

 private:
  struct Known {
    std::uint64_t key;
    std::size_t token;
  };
  struct Recent {
    Known known[kRecent];
  };

  [[gnu::always_inline]] std::size_t recent_token_of(std::uint64_t key) const noexcept {
    Known& known = P::template local<Recent>().known[key / kLine % kRecent];
    if (known.key != key) [[unlikely]] {
      known.token = std::size_t{hash(key) & mask} + 1;
      known.key = key;
    }
    return known.token;
  }

  [[gnu::always_inline]] static std::uint32_t hash(std::uint64_t key) noexcept {
    const std::uint64_t self = P::self();
    std::uint64_t z = key + (self << 32 | self >> 32);  // both vary in the same low bits
    z = (z ^ (z >> 33)) * 0x62A9D9ED799705F5u;
    z = (z ^ (z >> 28)) * 0xCB24D0A5C88C35B3u;
    return static_cast<std::uint32_t>(z >> 32);
  }
};

// The time that a revoker takes to scan a whole table which does not contain its lock. Measured
// once per process, at start-up.
struct ScanCost {
  std::uint64_t ns;
};

// Says which table a lock's readers use: the library's locks share one. (apps/interference.cpp
// gives each its own, to measure what sharing costs.)
template <Platform P>
struct OneTable {
  template <class Frame>
  static const ReadersTable<P>& of(const Frame&) noexcept {
    return P::template global<ReadersTable<P>>();
  }
};

}  // namespace lockswap
