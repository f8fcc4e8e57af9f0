// Counting and noting what is found, in the file that outlives the process.
#pragma once

#include <cstdint>

#include "audit/record.h"

namespace lockswap::audit {

// Called at start-up. `prefix`: the record is the file PREFIX.<pid>.<n>; nullptr means kept in
// memory only. Returns false if the file cannot be made; recording::file_name says which.
bool open_record(const char* prefix) noexcept;
// Called in a forked child. Opens a file of its own. Where none can be made (another user, another
// root), it goes on counting in its parent's.
void reopen_record() noexcept;
void close_record() noexcept;  // at exit: the process ended in order

// The record, for figures that are not counts.
Record& record() noexcept;
void raise_to(Word& most, std::uint64_t value) noexcept;

void count(Count what, std::uint64_t n = 1) noexcept;

struct Timed {
  std::uint64_t ns;
  std::uint64_t lock;
  std::uint32_t stack;
  bool goes_on = false;
};
// Keeps the longest of that kind.
void note_time(Time what, const Timed& timed) noexcept;

struct Noted {
  const void* lock;
  std::uint64_t site;  // return address of the call
  std::uint32_t other_thread = 0;
  std::uint64_t other_site = 0;
  const char* name = nullptr;  // of a library, instead of the other site
  std::uint32_t thread = 0;    // whose doing it is; 0 = the caller
  std::uint64_t more_sites[2] = {};
  std::uint32_t stack = 0, other_stack = 0;  // of the two sites; 0 = not known
  const Circle* circle = nullptr;            // of stacks that are not in the record yet
  std::uint64_t kinds = 0;  // kOfRwlocks or kOfMutexes, where it can be either; 0 = by the circle
};
// Called by a thread that is known. Async-signal-safe, unless the handler has interrupted a
// Section.
void note(Finding what, const Noted& noted) noexcept;
// One that was noted with this site, and no other, has turned out to be none.
void withdraw(Finding what, std::uint64_t site) noexcept;

}  // namespace lockswap::audit
