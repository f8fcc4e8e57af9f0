// Wait policy `spin`: look again until it is so. Right when each thread has a processor of its own.
#pragma once

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"

namespace lockswap {

// A wait policy is how to wait, apart from what to wait for:
//   until(atom, order, flag, channel, deadline, pred)
//       returns true once pred(atom's value) held, loaded with `order`; false when the deadline
//       passed first. A policy that sleeps sets `flag` in the atom before it does (0: the atom
//       needs none), so that who changes the atom knows to wake.
//   wake(atom address, channels)
//       after a change to the atom, if `flag` was set in it; never reads the atom.
template <class P, Pause kPause>
struct Busy {
  static constexpr bool kParks = false;

  // Out of line: callers look first, and their hot paths stay small.
  template <class A, class Pred>
  [[gnu::noinline]] static bool until(A& atom, Order order, typename A::value_type, std::uint32_t,
                                      const Deadline* deadline, Pred pred) noexcept {
    return P::await(kPause, atom, order, pred, deadline);
  }
  template <class A>
  static void wake(const A*, std::uint32_t) noexcept {}
};

template <class P>
using Spin = Busy<P, Pause::spin>;

}  // namespace lockswap
