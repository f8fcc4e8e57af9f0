// A hash of two words, for fingerprints: their product of 128 bits, folded (as Wang Yi's wyhash
// does it, https://github.com/wangyi-fudan/wyhash, which is in the public domain).
#pragma once

#include <cstdint>

namespace lockswap::explore {

__extension__ using DoubleWord = unsigned __int128;

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const DoubleWord product =
      DoubleWord{a ^ 0x2d358dccaa6c78a5u} * DoubleWord{b ^ 0x8bb84b93962eacc9u};
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace lockswap::explore
