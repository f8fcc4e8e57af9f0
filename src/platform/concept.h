// What a lock may use of the machine. Locks are templates over a Platform P, so one source runs in
// production (Native) and under the model checker, which explores interleavings and reorderings
// (explore::Explored).
//
// Each part is a concept of its own, with a comment on each member. All members are static.
// Native's are noexcept. The model checker's throw nothing either, but may end the execution, so
// noexcept is not required. Some of the model checker's have one more parameter with a default, the
// line of the lock that called them.
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/clock.h"
#include "platform/concept_memory.h"
#include "platform/concept_threads.h"
#include "platform/pause.h"

namespace lockswap {

template <class P>
concept PlatformTime = requires(const Deadline& deadline, std::uint64_t nanoseconds) {
  // Returns monotonic time, in nanoseconds.
  { P::now() } -> std::same_as<std::uint64_t>;
  // Returns whether the deadline has passed, patience aside.
  { P::passed(deadline) } -> std::same_as<bool>;
  // Returns a deadline for waits that usually end in another way. The model checker lets it pass
  // only when no thread can continue otherwise.
  { P::deadline_in(nanoseconds) } -> std::same_as<Deadline>;
  // Returns the same deadline as a point in time, for a thread that has just finished spinning.
  { P::due(deadline) } -> std::same_as<Deadline>;
  // Returns such a time for a call that can use one clock only. The call may end before the
  // deadline has passed, and then has to be repeated (clock.h).
  { P::one_sleep(deadline) } -> std::same_as<Deadline>;
  // Returns how long a reader waits for a writer that itself waits for readers, in nanoseconds, at
  // most a minute; 0 means for ever (posix/guests.h).
  { P::reader_patience() } -> std::same_as<std::uint64_t>;
  // Returns how long the head waiter of a lock waits before it requests a hand-off
  // (common/eventual_head.h), in nanoseconds, at most a minute; 0 means that it requests at once.
  { P::hand_off_after() } -> std::same_as<std::uint64_t>;
  // These record events at such a lock, for statistics and checks: the calling thread got that lock
  // by a hand-off; its release begins a phase of readers; it backs off because contention is
  // throttled. They impose no ordering.
  P::handed_off(&deadline);
  P::begins_phase();
  P::throttled();
  // Records that a thread which was about to sleep on that word found it changed, so that it
  // continues like one that was woken.
  P::took_wake_up(&deadline);
  // Returns how long a lock stays reserved for a thread, which may be preempted or stopped, in
  // nanoseconds; 0 means for ever.
  { P::take_back() } -> std::same_as<std::uint64_t>;
};

template <class S>
concept SpinsForCondition = std::constructible_from<S, const void*> &&
    requires(S& spins, const Deadline& deadline) {
  { spins.begins() } -> std::same_as<bool>;
  spins.ends_by(deadline);
  { spins.more() } -> std::same_as<bool>;
  spins.succeeded();
  spins.sleeps();
};

template <class P>
concept PlatformWaiting = requires(const typename P::template atomic<std::uint32_t>& word,
                                   const typename P::template atomic<std::uint64_t>& long_word,
                                   Pause pause, Order order, bool (*pred)(std::uint32_t),
                                   bool (*long_pred)(std::uint64_t), const Deadline* deadline,
                                   std::uint32_t low_half, std::uint32_t channels,
                                   std::uint64_t nanoseconds) {
  // Polls the atom, in the given order, until pred(its value) holds, and pauses in between. Returns
  // false if the deadline has passed first. A null deadline, or no argument, means none.
  { P::await(pause, word, order, pred) } -> std::same_as<bool>;
  { P::await(pause, word, order, pred, deadline) } -> std::same_as<bool>;
  { P::await(pause, long_word, order, long_pred, deadline) } -> std::same_as<bool>;
  // Yields the processor once, and for longer in later rounds, which count from 0. For loops that
  // wait for more than one atom.
  P::step_aside(0u);
  // A thread's spin before it parks. While more() returns true it pauses, by relax, and polls. It
  // calls succeeded() if what it waits for has come. The platform decides how long that lasts
  // (platform/adaptive/spins.h).
  requires std::constructible_from<typename P::Spins, const void*>;
  requires requires(typename P::Spins & spins) {
    { spins.more() } -> std::same_as<bool>;
    spins.succeeded();
  };
  // The same for the only waiter of a condition variable, whose address it gets. If begins()
  // returns false the thread is to sleep at once. ends_by() tells when the spin has to end, if the
  // wait has a deadline. The thread calls sleeps() before it sleeps, and destroys the object at the
  // end of the wait (platform/adaptive/event_spins.h).
  requires SpinsForCondition<typename P::EventSpins>;
  // The same for a waiter that isn't the only one (platform/adaptive/brief_spins.h).
  requires SpinsForCondition<typename P::BriefSpins>;
  // Decides whether a thread should back off before it queues, and learns whether the thread found
  // the lock busy afterwards (platform/adaptive/backoff.h).
  { P::Backoff::should_sleep(&word) } -> std::same_as<bool>;
  P::Backoff::learn(&word, true);
  // Decides whether contention is throttled (platform/adaptive/contention_throttle.h). A thread
  // that finds the lock taken calls advise, and backed_off once it has backed off. One that
  // releases a lock whose releases are counted calls counted, which returns whether they still are.
  { P::ContentionThrottle::advise(&word).sleep } -> std::convertible_to<std::uint64_t>;
  { P::ContentionThrottle::advise(&word).counts } -> std::convertible_to<bool>;
  P::ContentionThrottle::backed_off(&word);
  { P::ContentionThrottle::counted(&word) } -> std::same_as<bool>;
  // Decides whether a trylock that finds the lock reserved counts (adaptive/failed_tries.h).
  { P::FailedTries::should_count(&word) } -> std::same_as<bool>;
  // Decides whether a releasing thread should yield to a waiter that was woken
  // (platform/adaptive/yield_policy.h).
  { P::YieldPolicy::should_yield(true) } -> std::same_as<bool>;
  P::YieldPolicy::yield();
  P::relax();
  // Sleeps on the atom's lower 32 bits while they are low_half, until a wake on one of the
  // channels (a set of bits, not 0) or the deadline. It may also return spuriously.
  { P::park(word, low_half, channels, deadline) } -> std::same_as<Parked>;
  { P::park(long_word, low_half, channels, deadline) } -> std::same_as<Parked>;
  // The same on all channels, for at most that many nanoseconds, without reading the clock.
  { P::park_for(word, low_half, nanoseconds) } -> std::same_as<Parked>;
  // Wakes all threads that sleep on one of these channels. It does not read the atom, whose memory
  // may no longer exist. Returns how many slept; each of them is on its way out of the kernel now.
  // A thread that is about to sleep, or is in a signal handler, is not among them.
  { P::unpark(&word, channels) } -> std::same_as<std::uint32_t>;
  { P::unpark(&long_word, channels) } -> std::same_as<std::uint32_t>;
  // Wakes one of them: the one that has slept longest among those of the highest real-time
  // priority. The kernel chooses it, and nothing but fairness may rely on that.
  { P::unpark_one(&word, channels) } -> std::same_as<std::uint32_t>;
};

template <class P>
concept Platform = PlatformAtomics<P> && PlatformFences<P> && PlatformState<P> &&
    PlatformMemory<P> && PlatformThreads<P> && PlatformProcesses<P> && PlatformTopology<P> &&
    PlatformSizes<P> && PlatformTime<P> && PlatformWaiting<P>;

}  // namespace lockswap
