// A lock's promises about the order of its threads, in a form that tests can check. Each lock
// states them once, as `kClaims`; combinators pass them on or withdraw them; the registry prints
// them, the model checker checks them.
#pragma once

namespace lockswap {

struct Claims {
  // A reader that has arrived sees at most one writer's section begin or go on before its own.
  bool phase_fair = false;
  // Writers, except trylock and timed ones, enter in the order in which they arrived.
  bool fifo_writers = false;
  // The same in the sense of Lamport's "first come, first served" (CACM 17, 1974): before each
  // writer that begins its acquisition after they have arrived. One that has begun already may
  // still overtake them, since it has already checked the lock.
  bool fcfs_writers = false;
  // A waiting reader, untimed or with patience left, enters alongside no other reader.
  bool readers_exclude = false;
  // Writers that sleep in the same wait queue enter in the order in which they fell asleep, unless
  // a signal or a recheck of its own woke one. (A writer that never slept may enter before them.)
  bool sleepers_in_order = false;
  // A reader that has waited for LOCKSWAP_HANDOVER_US, and sleeps as a writer leaves, enters before
  // the next writer, unless a trylock, a deadline or P::take_back() comes between.
  bool sleeping_readers_next = false;
};
// A thread has arrived by the first read-modify-write of its acquisition.

}  // namespace lockswap
