// How to wait, apart from what to wait for.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/pause.h"

namespace lockswap {

// Waiting on an atom of any size. A sleeping thread only notices changes to its lower 32 bits, so a
// change that makes pred true has to change those, too.
template <class W, class Atom>
concept WaitsOn = requires(Atom& atom, const Atom* address, Order order,
                           typename Atom::value_type flag, std::uint32_t channel,
                           const Deadline* deadline, bool (*pred)(typename Atom::value_type)) {
  // Returns true once pred held for a value of the atom that was loaded in that order, or false if
  // the deadline passed first (a null deadline means none). Patience begins when the policy has
  // finished spinning. A policy that sleeps first sets `flag` in the atom (0: the atom needs none)
  // by a release RMW, so that a thread which changes the atom knows that it has to wake sleepers.
  // The order is at least as strong as what the caller goes on to rely on.
  { W::until(atom, order, flag, channel, deadline, pred) } -> std::same_as<bool>;
  // May be called by any thread, after a change of the atom in which `flag` was set. It never reads
  // the atom, whose memory may no longer exist. Wakes the waiters of the given channels, which are
  // a set of bits. A policy that sleeps returns how many it woke (PlatformWaiting's unpark).
  W::wake(address, channel);
};

template <class W, class P>
concept WaitPolicy = requires {
  // Whether waiters sleep. If not, flags are never set, and locks omit the code that handles them.
  requires std::same_as<decltype(W::kParks), const bool>;
  requires WaitsOn<W, typename P::template atomic<std::uint32_t>>;
  requires WaitsOn<W, typename P::template atomic<std::uint64_t>>;
};

// Optional: for a lock that wakes one of several waiters.
template <class W, class Atom>
concept WaitsInLineOn = requires(Atom& atom, const Atom* address, Order order,
                                 typename Atom::value_type flag, typename Atom::value_type seen,
                                 std::uint32_t channel, const Deadline* deadline,
                                 bool (*pred)(typename Atom::value_type)) {
  // Like until, for a thread that has polled for long enough: it does not spin before it sleeps.
  { W::sleep(atom, order, flag, channel, deadline, pred) } -> std::same_as<bool>;
  // For a lock that wakes one of several waiters, which find out by themselves what they were woken
  // for. Waits while the atom, loaded in that order, is `seen`; it may return earlier, after a wake
  // or spuriously. Returns how the wait ended, where `changed` means that it did not sleep.
  // Otherwise like sleep.
  { W::wait_once(atom, order, seen, channel, deadline) } -> std::same_as<Parked>;
  // Like wake, but wakes one of the sleepers, usually the one that has slept longest. A policy that
  // sleeps returns how many it woke.
  W::wake_one(address, channel);
};
template <class W, class P>
concept LineWaitPolicy =
    WaitPolicy<W, P> && WaitsInLineOn<W, typename P::template atomic<std::uint32_t>> &&
    WaitsInLineOn<W, typename P::template atomic<std::uint64_t>>;

}  // namespace lockswap
