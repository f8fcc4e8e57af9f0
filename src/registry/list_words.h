// The words of the lists of locks (rw_list.def, mutex_list.def). C++ and CMake read them; each list
// says at its head what its words mean.
#pragma once

namespace lockswap {

enum ListWords : unsigned {
  NO_WORDS = 0,
  PASSED_THROUGH = 1u << 0,
  UNDER_BRAVO = 1u << 1,
  SHOWS_BRAVO = 1u << 2,
  SHOWS_BRAVO_ASYM = 1u << 3,
  LEADS_BRAVO = 1u << 4,
  SAME_CONTRACT = 1u << 5,
  SAME_EXPLORED = 1u << 6,
  WAITS_AS_ANOTHER = 1u << 7,
  COMPARED = 1u << 8,
  SHOWS_CONDS = 1u << 9,
  EXPLORES_ASYM = 1u << 10,
};
constexpr ListWords operator|(ListWords a, ListWords b) noexcept {
  return static_cast<ListWords>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(ListWords words, ListWords one) noexcept { return (words & one) != 0u; }

}  // namespace lockswap
