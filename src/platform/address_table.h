// A cell of a table for what is known of an address. Two addresses may share one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockswap {

inline std::size_t by_address(const void* at, std::size_t cells) noexcept {
  const auto a = reinterpret_cast<std::uintptr_t>(at) >> 3;
  return (a ^ a >> 10 ^ a >> 20) % cells;
}

}  // namespace lockswap
