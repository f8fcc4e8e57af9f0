// The wait policies: their names, and the types behind them.
#pragma once

#include <array>
#include <cstddef>

#include "platform/text.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace lockswap {

struct WaitInfo {
  const char* name;
  const char* summary;
};
template <template <class> class Wait>
inline constexpr WaitInfo kWaitInfo{};
template <>
inline constexpr WaitInfo kWaitInfo<Spin>{"spin",
                                          "look again at once; needs a processor for each thread"};
template <>
inline constexpr WaitInfo kWaitInfo<Yield>{"yield",
                                           "look again, giving the processor away in between"};
template <>
inline constexpr WaitInfo kWaitInfo<Park>{
    "park", "spin for as long as that has helped, then sleep in the kernel"};

template <template <class> class... Policies>
struct WaitList {
  static constexpr std::size_t kCount = sizeof...(Policies);
  static constexpr std::array<WaitInfo, kCount> kInfos{kWaitInfo<Policies>...};

  // f is called with each policy and its number.
  template <class F>
  static constexpr void for_each(const F& f) {
    std::size_t i = 0;
    (f.template operator()<Policies>(i++), ...);
  }
  // The number of a name that is one of them.
  static constexpr std::size_t number_of(const char* name) noexcept {
    std::size_t i = 0;
    while (i + 1 < kCount && !same_name(kInfos[i].name, name))
      ++i;
    return i;
  }
};
using AllWaits = WaitList<Spin, Yield, Park>;

}  // namespace lockswap
