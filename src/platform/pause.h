// How a wait goes on between two looks, and how a sleep ends.
#pragma once

#include <cstdint>

namespace lockswap {

enum class Pause {
  // Neither lets a thread of lower priority run that the kernel keeps back for this one: if this
  // thread turns out to have a real-time policy, it sleeps for a moment between two looks.
  spin,   // the processor's pause instruction
  yield,  // give the processor to another thread
  // For what another thread is about to do, whatever else happens: a moment's spin, then yield,
  // then sleep for longer and longer (P::step_aside), so that a thread of lower priority gets to
  // it.
  nap,
};

enum class Parked {
  woken,        // woken, or for no reason: recheck
  interrupted,  // by a signal handler, or to look at a clock, and by no wake: the same, or sleep on
  changed,      // it did not sleep, since the word had changed: recheck
  timed_out,    // the deadline has passed
};

// Where a thread naps: it sleeps until its deadline, and no thread is to wake it.
inline constexpr std::uint32_t kNobodysChannel = 1u << 31;

}  // namespace lockswap
