// A thread's own random numbers: which lock, whether to write. Cheap, and the same in every run.
#pragma once

#include <cmath>
#include <cstdint>

namespace bench {

// xorshift64* (G. Marsaglia, "Xorshift RNGs", 2003, with S. Vigna's multiplier).
class Random {
 public:
  // Seeds that follow each other give sequences that have nothing in common.
  explicit Random(std::uint64_t seed) noexcept : state_((seed + 1) * 0x9E3779B97F4A7C15u) {
    for (int i = 0; i < 16; ++i)
      next();
  }

  std::uint32_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1Du) >> 32);
  }
  // 0 to n - 1. n is at least 1.
  std::uint32_t below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{next()} * n) >> 32);
  }
  // True in a share of the calls; see share_of_32_bits.
  bool with_share(std::uint64_t share) noexcept { return next() < share; }

 private:
  std::uint64_t state_;
};

// A share from 0 to 1 in units of 2^-32, so that a 32-bit number is below it that often.
inline std::uint64_t share_of_32_bits(double share) noexcept {
  return static_cast<std::uint64_t>(std::llround(share * 4294967296.0));
}

// The compiler must make this value, though no code uses it.
template <class T>
void keep(T value) noexcept {
  asm volatile("" : : "r"(value));
}

}  // namespace bench
