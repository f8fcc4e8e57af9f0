// The wait policies: their names, and the type for each.
#pragma once

#include <array>
#include <cstddef>

#include "platform/pause.h"
#include "platform/text.h"
#include "wait/park.h"
#include "wait/spin_or_yield.h"

namespace lockswap {

struct WaitInfo {
  const char* name;
  const char* summary;
};
inline constexpr std::array<WaitInfo, 3> kWaits{{
    {"spin", "poll; needs a processor for each thread"},
    {"yield", "poll, and yield the processor in between"},
    {"park", "spin for as long as that has paid off, then sleep in the kernel"},
}};

// The types. Each lock is compiled for each of these.
template <template <class> class... Policies>
struct WaitList {
  static constexpr std::size_t kCount = sizeof...(Policies);

  // Calls f with each type and its number.
  template <class F>
  static constexpr void for_each(const F& f) {
    std::size_t i = 0;
    (f.template operator()<Policies>(i++), ...);
  }
};
using WaitTypes = WaitList<SpinOrYield, Park>;

// Returns the number of the type for a name in kWaits.
constexpr std::size_t wait_type_of(const char* name) noexcept {
  return same_name(name, "park") ? 1 : 0;
}
// The same. From now on, this process waits by that policy.
inline std::size_t choose_wait(const char* name) noexcept {
  ChosenPause::chosen = same_name(name, "yield") ? Pause::yield : Pause::spin;
  return wait_type_of(name);
}

}  // namespace lockswap
