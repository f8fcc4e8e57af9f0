// One of the library's wait policies, which also tells the machine the line of the waiting lock,
// and what it waits for. So the machine recognises a lost wake-up, and a mutation can weaken the
// order that a lock passes to the policy for that line alone.
#pragma once

#include "multicore/explore/platform.h"

namespace lockswap::explore {

template <class W>
struct WaitAt {
  static constexpr bool kParks = W::kParks;

  template <class A, class Pred>
  static bool until(A& atom, Order order, typename A::value_type flag, std::uint32_t channel,
                    const Deadline* deadline, Pred pred, Site s = Site::current()) {
    return waits(atom, pred, s,
                 [&] { return W::until(atom, order, flag, channel, deadline, pred); });
  }
  template <class A, class Pred>
  static bool sleep(A& atom, Order order, typename A::value_type flag, std::uint32_t channel,
                    const Deadline* deadline, Pred pred, Site s = Site::current()) {
    return waits(atom, pred, s,
                 [&] { return W::sleep(atom, order, flag, channel, deadline, pred); });
  }
  template <class A>
  static Parked wait_once(A& atom, Order order, typename A::value_type seen, std::uint32_t channel,
                          const Deadline* deadline, Site s = Site::current()) {
    // Not every change is for this thread, so one that sleeps on may be correct.
    const auto never = [](typename A::value_type) { return false; };
    return waits(atom, never, s,
                 [&] { return W::wait_once(atom, order, seen, channel, deadline); });
  }
  template <class A>
  static auto wake(const A* atom, std::uint32_t channels, Site s = Site::current()) {
    using Result = decltype(W::wake(atom, channels));
    // A wake-up that is left out counts as one that found a sleeper.
    if (machine.wake_dropped(s)) return static_cast<Result>(1);
    return W::wake(atom, channels);
  }
  template <class A>
  static auto wake_one(const A* atom, std::uint32_t channels, Site s = Site::current()) {
    using Result = decltype(W::wake_one(atom, channels));
    if (machine.wake_dropped(s)) return static_cast<Result>(1);
    return W::wake_one(atom, channels);
  }

 private:
  template <class A, class Pred, class Wait>
  static auto waits(A& atom, Pred pred, const Site& s, Wait wait) {
    machine.caller() = {s, condition_on<typename A::value_type>(pred, atom.location()), true};
    const auto how = wait();
    machine.caller().set = false;
    return how;
  }
};

}  // namespace lockswap::explore
