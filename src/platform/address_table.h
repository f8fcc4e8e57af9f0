// A table with a cell for each address in memory. Addresses may share a cell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockswap {

template <class Cell, std::size_t kCells = 1024>
class AddressTable {
 public:
  static std::size_t index_of(const void* address) noexcept {
    const auto a = reinterpret_cast<std::uintptr_t>(address) >> 3;
    return (a ^ a >> 10 ^ a >> 20) % kCells;
  }
  Cell& operator[](const void* address) noexcept { return cells_[index_of(address)]; }

 private:
  alignas(64) std::array<Cell, kCells> cells_{};
};

}  // namespace lockswap
