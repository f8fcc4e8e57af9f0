// Counts and notes findings in the file that outlives the process.
#pragma once

#include <cstdint>

#include "audit/record.h"

namespace lockswap::audit {

// Called at start-up. The record is the file PREFIX.<pid>.<n>, or only in memory if prefix is
// nullptr. Returns false if the file cannot be made; recording::file_name has its name.
bool open_record(const char* prefix) noexcept;
// Called in a forked child. Opens the child's own file. If that fails (another user, another root),
// the child counts in its parent's.
void reopen_record() noexcept;
void close_record() noexcept;  // at exit: the process ended normally

// The record, for numbers that are not counters.
Record& record() noexcept;
void raise_to(Word& most, std::uint64_t value) noexcept;

void count(Count what, std::uint64_t n = 1) noexcept;

struct Timed {
  std::uint64_t ns;
  std::uint64_t lock;
  std::uint32_t stack;
  bool goes_on = false;
};
// Keeps the longest time of each kind.
void note_time(Time what, const Timed& timed) noexcept;

struct Noted {
  const void* lock;
  std::uint64_t site;  // return address of the call
  std::uint32_t other_thread = 0;
  std::uint64_t other_site = 0;
  const char* name = nullptr;  // a library's, instead of the second site
  std::uint32_t thread = 0;    // the thread that is reported; 0: the caller
  std::uint64_t more_sites[2] = {};
  std::uint32_t stack = 0, other_stack = 0;  // at the two sites; 0: unknown
  const Circle* circle = nullptr;            // with stacks that are not in the record yet
  std::uint64_t kinds = 0;  // kOfRwlocks or kOfMutexes, if both are possible; 0: by the cycle
};
// Called by a thread that is known. Async-signal-safe, unless the handler has interrupted a
// Section.
void note(Finding what, const Noted& noted) noexcept;
// Withdraws a finding that was noted with this site only, and has turned out to be wrong.
void withdraw(Finding what, std::uint64_t site) noexcept;

}  // namespace lockswap::audit
