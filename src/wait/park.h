// Wait policy `park`, the default: spin for a moment, then sleep in the kernel.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/futex.h"
#include "platform/pause.h"
#include "wait/predicate.h"

namespace lockswap {

// A WaitPolicy (wait/concept.h).
template <Platform P>
struct Park {
  static constexpr bool kParks = true;

  // Out of line: callers check first, and their hot paths stay small. The code that waits is
  // compiled once for all predicates, since calling one costs less than the pause that follows.
  template <class A, class Pred>
  [[gnu::noinline]] static bool until(A& atom, Order order, typename A::value_type flag,
                                      std::uint32_t channel, const Deadline* deadline,
                                      Pred pred) noexcept {
    return wait<A>(atom, order, flag, channel, deadline, pred);
  }
  // Returns true once pred holds, or false if the thread has spun for long enough.
  template <class A>
  static bool spin(A& atom, Order order, PredicateOn<A> pred) noexcept {
    for (typename P::Spins spins(&atom); spins.more(); P::relax()) {
      if (!pred(atom.load(order))) continue;
      spins.succeeded();
      return true;
    }
    return false;
  }
  template <class A>
  [[gnu::noinline]] static bool sleep(A& atom, Order order, typename A::value_type flag,
                                      std::uint32_t channel, const Deadline* deadline,
                                      PredicateOn<A> pred) noexcept {
    Deadline point{};
    if (deadline != nullptr && deadline->patience != 0) {
      point = P::due(*deadline);
      deadline = &point;
    }
    for (;;) {
      typename A::value_type v = atom.load(order);
      if (pred(v)) return true;
      if (flag != 0) {
        // Even if another sleeper has set the flag already. release: the next thread that changes
        // the atom, and a thread that reads that change, also see what this thread did before it
        // slept (in PF-T, that it took a ticket).
        if (!atom.compare_exchange(v, v | flag, release)) continue;
        v |= flag;
      }
      if (P::park(atom, static_cast<std::uint32_t>(v), channel, deadline) == Parked::timed_out) {
        return pred(atom.load(order));
      }
    }
  }
  template <class A>
  [[gnu::noinline]] static Parked wait_once(A& atom, Order order, typename A::value_type seen,
                                            std::uint32_t channel,
                                            const Deadline* deadline) noexcept {
    Deadline point{};
    if (deadline != nullptr && deadline->patience != 0) {
      point = P::due(*deadline);
      deadline = &point;
    }
    if (atom.load(order) != seen) {
      P::took_wake_up(&atom);
      return Parked::changed;
    }
    const Parked parked = P::park(atom, static_cast<std::uint32_t>(seen), channel, deadline);
    return parked == Parked::timed_out && atom.load(order) != seen ? Parked::woken : parked;
  }
  template <class A>
  static std::uint32_t wake(const A* atom, std::uint32_t channels) noexcept {
    return P::unpark(atom, channels);
  }
  template <class A>
  static std::uint32_t wake_one(const A* atom, std::uint32_t channels) noexcept {
    return P::unpark_one(atom, channels);
  }

 private:
  template <class A>
  [[gnu::noinline]] static bool wait(A& atom, Order order, typename A::value_type flag,
                                     std::uint32_t channel, const Deadline* deadline,
                                     PredicateOn<A> pred) noexcept {
    if (spin(atom, order, pred)) return true;
    return sleep(atom, order, flag, channel, deadline, pred);
  }
};

}  // namespace lockswap
