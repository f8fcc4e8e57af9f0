// What `auto` stands for, and why; the only place of the library that prefers locks by their names.
#pragma once

#include <initializer_list>

#include "config/left_out.h"
#include "platform/processors.h"
#include "platform/text.h"

namespace lockswap {

// Such a lock belongs to whichever running thread takes it, as glibc's does. So it is as fast with
// more threads than processors, and a thread that cannot run (a collector has stopped it, or a
// debugger, or a thread of higher priority) keeps nobody else out for good: a lock that was kept
// for it is taken back. Programs that are right under glibc's locks don't hang. It wakes by
// real-time priority, too. Beside that, unlike glibc's, it lets nobody wait for ever.
// docs/algorithms.md has the reasons, and results/notes/2026-11-eventual.md the figures.
//
// The other locks here are handed off at each release, to a certain thread.
//
// On one CPU no two threads run at once, so no line goes to and fro, which BRAVO spares readers.
// A quota of the cgroup makes no difference: while the threads of a process run, they run on as
// many CPUs at once as without it, also where it is half a processor; after that all of them stop
// until the period is over. So lines go to and fro for as large a part of the time that is used.
struct AutoChoice {
  const char* one_cpu;
  const char* several_cpus;
  const char* left_out = nullptr;  // a lock that this build lacks, and that was better

  constexpr const char* on(const Processors& p) const noexcept {
    return p.allowed == 1 ? one_cpu : several_cpus;
  }
};

// The first of each list's names that this build has. No other lock of ours belongs to whichever
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

// The lock that `auto` stands for on this machine, by its name. Both read the topology.
struct Config;
const char* auto_rwlock(const Config& config) noexcept;
const char* auto_mutex(const Config& config) noexcept;
// Why, in a few words; of a choice that was made.
void put_auto_reason(Text& out, const AutoChoice& choice) noexcept;
// The range lock of programs that name none: readers share, and few ranges are held at once.
inline constexpr const char* kDefaultRange = first_built({"list-rw", "kernel-rw", "pnova-rw"});

}  // namespace lockswap
