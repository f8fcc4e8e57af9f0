// How the memory of objects is freed: by a function of the program, whose number each object has in
// its header. Several allocators in one process therefore do not meet.
//
// State: a table of the functions, zero at first, that only grows. A function's place is found from
// its address, so that the same function has the same number again.
// Order: an object that is freed was made after its function was put in; the object hands that on.
//   So all is relaxed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/native.h"

namespace lockswap {

class FreeFunctions {
 public:
  using Function = void (*)(void*);
  // Its number. 0: there is no function, or there are too many.
  static std::uint16_t number_of(Function f) noexcept {
    if (f == nullptr) return 0;
    const std::size_t first = place_of(f);
    for (std::size_t i = 0; i < kMost; ++i) {
      const std::size_t at = (first + i) % kMost;
      if (is_at(at, f)) return static_cast<std::uint16_t>(at + 1);
    }
    return 0;
  }
  // Returns nullptr if the memory is not the library's to free.
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
  // Whether the function is there, or is put there.
  static bool is_at(std::size_t at, Function f) noexcept {
    Place& place = table()[at];
    Function known = place.load(relaxed);
    if (known == nullptr && place.compare_exchange(known, f, relaxed)) return true;
    return known == f;
  }
};

}  // namespace lockswap
