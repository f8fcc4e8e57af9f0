// Frees the memory of objects by a function of the program, whose number is in each object's
// header. So several allocators in one process don't conflict.
//
// State: a table of the functions, zero at first, which only grows. A function's place follows from
//   its address, so the same function always gets the same number.
// Order: an object was made after its function was stored, and whoever frees the object got it by
//   an ordered path. So all accesses are relaxed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/native.h"

namespace lockswap {

class FreeFunctions {
 public:
  using Function = void (*)(void*);
  // Returns the function's number, or 0 if f is null or there are too many functions.
  static std::uint16_t number_of(Function f) noexcept {
    if (f == nullptr) return 0;
    const std::size_t first = place_of(f);
    for (std::size_t i = 0; i < kMost; ++i) {
      const std::size_t at = (first + i) % kMost;
      if (is_at(at, f)) return static_cast<std::uint16_t>(at + 1);
    }
    return 0;
  }
  // Returns nullptr if the library must not free the memory.
  static Function numbered(std::uint64_t number) noexcept {
    return number == 0 ? nullptr : table()[number - 1].load(relaxed);
  }

 private:
  static constexpr std::size_t kMost = 4096;
  using Place = NativeAtomic<Function>;
  struct State {
    Place places[kMost];
  };

  static Place* table() noexcept { return Native::global<State>().places; }
  static std::size_t place_of(Function f) noexcept {
    return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(f) * 0x9E3779B97F4A7C15u >>
                                    52);
  }
  // Returns whether the function is at that place, after storing it if the place is empty.
  static bool is_at(std::size_t at, Function f) noexcept {
    Place& place = table()[at];
    Function known = place.load(relaxed);
    if (known == nullptr && place.compare_exchange(known, f, relaxed)) return true;
    return known == f;
  }
};

}  // namespace lockswap
