// A wait policy as shipped, that also tells the machine which line of the lock waits, and for what.
// So a lost wake-up is recognised as such, and the order a lock hands to the policy can be weakened
// for that line alone.
#pragma once

#include "multicore/explore/platform.h"

namespace lockswap::explore {

template <class W>
struct WaitAt {
  static constexpr bool kParks = W::kParks;

  template <class A, class Pred>
  static bool until(A& atom, Order order, typename A::value_type flag, std::uint32_t channel,
                    const Deadline* deadline, Pred pred, Site s = Site::current()) {
    auto& caller = machine.caller();
    caller = {s, condition_on<typename A::value_type>(pred, atom.location()), true};
    const bool done = W::until(atom, order, flag, channel, deadline, pred);
    machine.caller().set = false;
    return done;
  }
  template <class A>
  static void wake(const A* atom, std::uint32_t channels, Site s = Site::current()) {
    if (!machine.wake_dropped(s)) W::wake(atom, channels);
  }
};

}  // namespace lockswap::explore
