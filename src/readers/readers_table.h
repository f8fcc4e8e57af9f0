// BRAVO's visible readers table: one for the process, shared by all locks and threads.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019), section 3.
// State: a slot is 0, or the key (address) of a lock with one fast reader. Bit 0 of an occupied
//   slot: a revoker sleeps on it.
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
  std::uint32_t guard;  // the paper's N: the time of a revocation, times N, without bias

  static constexpr std::uint64_t kRevokerSleeps = 1;

  // Where the calling thread publishes itself for `key`: always the same slot, so that a thread
  // finds the line in its cache. The paper's choice: Mix32 of Steele, Lea, Flood, "Fast splittable
  // pseudorandom number generators" (OOPSLA 2014), over lock address and thread identity.
  // The thread remembers the last one, and kRecent before it: hashing takes longer than looking. (A
  // signal handler may mix the two words up: any slot is right, since a hold remembers its own.)
  // A token is the slot's index plus 1.
  [[gnu::always_inline]] std::size_t token_of(std::uint64_t key) const noexcept {
    Known& last = P::template local<Known>();
    if (last.key != key) [[unlikely]] {
      last.token = recent_token_of(key);
      last.key = key;
    }
    return last.token;
  }

  // Keys share a place by their addresses: the next one that has the same is kRecent lines away.
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

// What it costs a revoker to look at a whole table in which its lock is not named: measured once,
// at start-up. One for the process.
struct ScanCost {
  std::uint64_t ns;
};

// Which table a lock's readers use: the library's locks share one. (apps/interference.cpp gives
// each its own, to see what sharing costs.)
template <Platform P>
struct OneTable {
  template <class Frame>
  static const ReadersTable<P>& of(const Frame&) noexcept {
    return P::template global<ReadersTable<P>>();
  }
};

}  // namespace lockswap
