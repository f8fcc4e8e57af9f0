// A place in the program's code or data that has the same meaning in another process: a module's
// number in the upper 16 bits, and below it the address as in the module's own tables. With
// kNoModule it is an address of this process.
#pragma once

#include <cstdint>

namespace lockswap::recording {

using Place = std::uint64_t;

inline constexpr unsigned kPlaceShift = 48;
inline constexpr std::uint64_t kNoModule = 0xffff;

constexpr Place place(std::uint64_t module, std::uint64_t address) noexcept {
  return module << kPlaceShift | (address & ((Place{1} << kPlaceShift) - 1));
}
constexpr std::uint64_t module_of(Place p) noexcept { return p >> kPlaceShift; }
constexpr std::uint64_t address_in_module(Place p) noexcept {
  return p & ((Place{1} << kPlaceShift) - 1);
}

}  // namespace lockswap::recording
