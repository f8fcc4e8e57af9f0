// What `auto` stands for, and why; the only place of the library that prefers locks by their names.
#pragma once

namespace lockswap {

// Below is always glibc's, whatever the machine. Every other lock here is handed off: a release
// gives it to a certain thread. A thread that cannot run then (a collector has stopped it, or a
// debugger, or a thread of higher priority) keeps it from all others; and where the thread that
// would let it run needs the lock itself, for ever. Programs that are right under glibc's locks,
// which belong to whichever thread takes them, hang then. It also sleeps and wakes by real-time
// priority, as the kernel does, which no queue does.
//
// On one CPU no two threads run at once, so glibc's short paths are the cheapest. On several BRAVO
// spares readers the line that they would share, also between memory nodes.
struct AutoChoice {
  const char* one_cpu;
  const char* several_cpus;
};
inline constexpr AutoChoice kAutoRwlock{"pthread", "bravo-pthread"};
inline constexpr AutoChoice kAutoMutex{"pthread", "pthread"};
// The range lock of programs that name none: readers share, and few ranges are held at once.
inline constexpr const char* kDefaultRange = "list-rw";
// For messages: the smallest lock of ours, for a glibc that uses the bytes which BRAVO would need
// beside it.
inline constexpr const char* kAutoBesideNoGlibc = "bravo-pf-t";

}  // namespace lockswap
