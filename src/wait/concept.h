// How to wait, apart from what to wait for.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/pause.h"

namespace lockswap {

// On an atom of whichever size.
template <class W, class Atom>
concept WaitsOn = requires(Atom& atom, const Atom* address, Order order,
                           typename Atom::value_type flag, std::uint32_t channel,
                           const Deadline* deadline, bool (*pred)(typename Atom::value_type)) {
  // True once pred(the atom's value) held, loaded in that order; false: the deadline passed first
  // (nullptr if there is none). Its patience begins when the policy is through with spinning. A
  // policy that sleeps sets `flag` in the atom before it does (0: the atom needs none), by a
  // release update, so that a thread which changes the atom knows that it has to wake. The order is
  // at least as strong as what the caller goes on to rely on.
  { W::until(atom, order, flag, channel, deadline, pred) } -> std::same_as<bool>;
  // By any thread, after a change of the atom in which `flag` was set. It never reads the atom,
  // whose memory may no longer exist. The channels, a set of bits, are those whose waiters must
  // look again. A policy that sleeps returns how many it woke (PlatformWaiting's unpark).
  W::wake(address, channel);
};

template <class W, class P>
concept WaitPolicy = requires {
  // Whether waiters sleep. Else flags are never set, and locks leave out what they are for.
  requires std::same_as<decltype(W::kParks), const bool>;
  requires WaitsOn<W, typename P::template atomic<std::uint32_t>>;
  requires WaitsOn<W, typename P::template atomic<std::uint64_t>>;
};

// Optional: for a lock that wakes one of several.
template <class W, class Atom>
concept WaitsInLineOn = requires(Atom& atom, const Atom* address, Order order,
                                 typename Atom::value_type flag, typename Atom::value_type seen,
                                 std::uint32_t channel, const Deadline* deadline,
                                 bool (*pred)(typename Atom::value_type)) {
  // As until, for a thread that has looked for long enough: it does not spin before it sleeps.
  { W::sleep(atom, order, flag, channel, deadline, pred) } -> std::same_as<bool>;
  // For a lock that wakes one of several, and whose waiters find out by themselves what it was for.
  // Waits while the atom is `seen`, loaded in that order; it may return before that ends: after a
  // wake, or for no reason. How that ended: `changed` if it did not sleep. Else as sleep.
  { W::wait_once(atom, order, seen, channel, deadline) } -> std::same_as<Parked>;
  // As wake, for one of the sleepers, as a rule the one that has slept longest. A policy that
  // sleeps returns how many it woke.
  W::wake_one(address, channel);
};
template <class W, class P>
concept LineWaitPolicy =
    WaitPolicy<W, P> && WaitsInLineOn<W, typename P::template atomic<std::uint32_t>> &&
    WaitsInLineOn<W, typename P::template atomic<std::uint64_t>>;

}  // namespace lockswap
