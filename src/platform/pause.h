// What a waiting thread does between two polls, and how a sleep ends.
#pragma once

#include <cstdint>

namespace lockswap {

enum class Pause {
  // With spin and yield a thread of lower priority may never run if this one has a real-time
  // policy. If it turns out to have one, it sleeps for a moment between two polls.
  spin,   // the processor's pause instruction
  yield,  // give the processor to another thread
  // For what another thread is about to do in any case: spin for a moment, then yield, then sleep
  // for longer and longer (P::step_aside), so that a thread of lower priority gets to do it.
  nap,
};

enum class Parked {
  woken,        // woken, or spuriously: recheck
  interrupted,  // not woken, but by a signal handler or to check a clock: recheck, or stay asleep
  changed,      // did not sleep, since the word had changed: recheck
  timed_out,    // the deadline has passed
};

// The channel of a thread that sleeps until its deadline, and that no thread is to wake.
inline constexpr std::uint32_t kNobodysChannel = 1u << 31;

}  // namespace lockswap
