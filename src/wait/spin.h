// Wait policy `spin`: polls until the condition holds. It suits programs in which each thread has a
// processor of its own.
#pragma once

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/pause.h"
#include "wait/predicate.h"

namespace lockswap {

// A WaitPolicy (wait/concept.h). Pauses::pause() says what a thread does between two polls.
template <Platform P, class Pauses>
struct Busy {
  static constexpr bool kParks = false;

  // Out of line: callers check first, and their hot paths stay small. The code that waits is
  // compiled once for all predicates, as in park.h.
  template <class A, class Pred>
  [[gnu::noinline]] static bool until(A& atom, Order order, typename A::value_type, std::uint32_t,
                                      const Deadline* deadline, Pred pred) noexcept {
    return wait<A>(atom, order, deadline, pred);
  }
  template <class A>
  static bool sleep(A& atom, Order order, typename A::value_type, std::uint32_t,
                    const Deadline* deadline, PredicateOn<A> pred) noexcept {
    return wait<A>(atom, order, deadline, pred);
  }
  template <class A>
  [[gnu::noinline]] static Parked wait_once(A& atom, Order order, typename A::value_type seen,
                                            std::uint32_t, const Deadline* deadline) noexcept {
    const auto differs = [seen](typename A::value_type v) { return v != seen; };
    return P::await(Pauses::pause(), atom, order, differs, deadline) ? Parked::changed
                                                                     : Parked::timed_out;
  }
  template <class A>
  static void wake(const A*, std::uint32_t) noexcept {}
  template <class A>
  static void wake_one(const A*, std::uint32_t) noexcept {}

 private:
  template <class A>
  [[gnu::noinline]] static bool wait(A& atom, Order order, const Deadline* deadline,
                                     PredicateOn<A> pred) noexcept {
    return P::await(Pauses::pause(), atom, order, pred, deadline);
  }
};

template <Pause kPause>
struct Always {
  static constexpr Pause pause() noexcept { return kPause; }
};
template <Platform P>
using Spin = Busy<P, Always<Pause::spin>>;

}  // namespace lockswap
