// What a thread or a message has seen: the newest write of each location, and the clock of each
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lockswap::explore {

inline constexpr int kMaxThreads = 8;     // the last is the one that sets up and cleans up
inline constexpr int kMaxLocations = 56;  // atoms that one execution touches
inline constexpr int kMostWrites = 255;   // to one location, and by one thread

// One byte each, so that joining two views takes four vector instructions. Thread clocks are for
// race detection on plain data. The others say which writes can't be missed any more.
struct alignas(64) View {
  std::array<std::uint8_t, kMaxThreads + kMaxLocations> at{};

  std::uint8_t& clock(int thread) { return at[thread]; }
  std::uint8_t clock(int thread) const { return at[thread]; }
  std::uint8_t& seen(int location) { return at[kMaxThreads + location]; }
  std::uint8_t seen(int location) const { return at[kMaxThreads + location]; }

  // By hand, because compilers assume that the two may overlap, and this is half of the explorer's
  // time.
  void join(const View& other) {
    auto* mine = reinterpret_cast<Lanes*>(at.data());
    const auto* its = reinterpret_cast<const Lanes*>(other.at.data());
    for (std::size_t i = 0; i < sizeof at / sizeof(Lanes); ++i)
      mine[i] = mine[i] > its[i] ? mine[i] : its[i];
  }
  void forget_clocks() { std::fill_n(at.begin(), kMaxThreads, 0); }

 private:
  using Lanes [[gnu::vector_size(16), gnu::may_alias]] = std::uint8_t;
};

}  // namespace lockswap::explore
