// The lock that `auto` stands for, and why. This is the only place in the library that prefers
// locks by name.
#pragma once

#include <initializer_list>

#include "config/left_out.h"
#include "platform/processors.h"
#include "platform/text.h"

namespace lockswap {

// These locks go to whichever running thread takes them, as glibc's do. So they are as fast if
// there are more threads than processors. A thread that can't run (stopped by a garbage collector
// or a debugger, or preempted by a thread of higher priority) does not keep others out for good,
// because a lock that is reserved for it is taken back. Programs that are correct under glibc's
// locks don't hang. These locks also wake by real-time priority and, unlike glibc's, let no thread
// wait for ever. docs/algorithms.md has the reasons, and results/notes/2026-11-eventual.md the
// figures.
//
// The other locks here are handed off to a certain thread at each release.
//
// On one CPU no two threads run at the same time, so cache lines don't bounce, which is what BRAVO
// avoids for readers. A cgroup's quota makes no difference: while the threads of a process run,
// they run on as many CPUs at once as without it, even with a quota of half a processor. After that
// all of them stop until the period is over. So lines bounce for as large a share of the time that
// is used.
struct AutoChoice {
  const char* one_cpu;
  const char* several_cpus;
  const char* left_out = nullptr;  // a better lock, which this build lacks

  constexpr const char* on(const Processors& p) const noexcept {
    return p.allowed == 1 ? one_cpu : several_cpus;
  }
};

// Returns the first name in each list that this build has. No other lock of ours goes to whichever
// running thread takes it, so the last name is glibc's.
constexpr AutoChoice auto_choice(std::initializer_list<const char*> one_cpu,
                                 std::initializer_list<const char*> several_cpus) noexcept {
  AutoChoice choice{first_built(one_cpu), first_built(several_cpus)};
  for (const char* best : {*one_cpu.begin(), *several_cpus.begin()}) {
    if (is_left_out(best)) choice.left_out = best;
  }
  return choice;
}
inline constexpr AutoChoice kAutoRwlock =
    auto_choice({"eventual", "pthread"}, {"bravo-eventual", "eventual", "pthread"});
inline constexpr AutoChoice kAutoMutex =
    auto_choice({"eventual", "pthread"}, {"eventual", "pthread"});

// Return the name of the lock that `auto` stands for on this machine. Both read the topology.
struct Config;
const char* auto_rwlock(const Config& config) noexcept;
const char* auto_mutex(const Config& config) noexcept;
// Appends the reason for a choice, in a few words.
void put_auto_reason(Text& out, const AutoChoice& choice) noexcept;
// The range lock for programs that name none: readers share, and few ranges are held at once.
inline constexpr const char* kDefaultRange = first_built({"list-rw", "kernel-rw", "pnova-rw"});

}  // namespace lockswap
