// Carries out decisions: the calling thread is delayed, yields, or moves to another processor.
#pragma once

#include <cstdint>

#include "fuzz/decision.h"

namespace lockswap::fuzz {

// Zero in a new thread.
struct Me {
  std::uint64_t name;      // 0: not assigned yet
  std::uint64_t count;     // points that the thread has passed
  std::uint64_t children;  // threads that it has created
  std::uint64_t base;      // points of its budget that are spent before its first one
};

inline constinit Settings settings{};

// Opens the file for the trace of decisions, if there is one. Returns false on failure.
bool trace_to(const char* file) noexcept;

// Returns the initial Me of the next thread that the calling one creates. Its name depends on its
// creators' names and on how many threads they have created, so it is the same in each run.
Me next_child() noexcept;
void begin_thread(const Me& child) noexcept;

// Returns the calling thread's number among the threads that wait for a lock.
std::uint64_t my_turn_number() noexcept;

// Returns true if the thread must return from its wait with a spurious wake-up.
bool pass(Point point) noexcept;

}  // namespace lockswap::fuzz
