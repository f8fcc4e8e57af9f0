// A lock's description of itself in words, in addition to its claims. Its row in the registry has
// it, `lockswap list` prints it, and BRAVO derives its own from that of the underlying lock.
#pragma once

namespace lockswap {

struct LockInfo {
  const char* summary;
  const char* source;               // paper and section
  const char* fairness;             // which thread goes first
  const char* kinds = "";           // for an rwlock: the effect of glibc's writer-preference kinds
  bool readers_overtake = false;    // a reader may enter while a writer waits for others to leave
  bool writers_can_starve = false;  // readers that keep coming, and overlap, keep writers out
  bool takes_back = false;          // hand-offs to threads that cannot run time out
  bool barges = false;              // no hand-offs: a running thread takes a free lock
  const char* aliases[3] = {};      // other names that users may type; nullptr-terminated
  // The most instructions that an uncontended read, or mutex, may take with its release, the loop
  // around it and the call through the preload: tests/apps/instructions.py measures each lock.
  unsigned instructions = 0;
  // The same for a write. 0: the lock sets itself no bound.
  unsigned write_instructions = 0;
};

// `kinds` of the locks that prefer neither side.
inline constexpr const char* kKindsAlternate = "no effect: readers and writers alternate";

}  // namespace lockswap
