// Carries decisions out: the calling thread is delayed, yields, moves to another processor.
#pragma once

#include <cstdint>

#include "fuzz/decision.h"

namespace lockswap::fuzz {

// All zero in a new thread.
struct Me {
  std::uint64_t name;      // 0: not asked for yet
  std::uint64_t count;     // points that the thread has passed
  std::uint64_t children;  // threads that it has created
  std::uint64_t base;      // points of its budget that were spent before its first one: decision.h
};

inline constinit Settings settings{};

// Opens what decisions are written to, if anything. Returns false if it cannot be.
bool trace_to(const char* file) noexcept;

// What the next thread that the calling one creates is to begin with. Its name follows from the
// creators' names and from how many they have created, so it is the same in each run.
Me next_child() noexcept;
void begin_thread(const Me& child) noexcept;

// The calling thread's number among those who wait for a lock.
std::uint64_t my_turn_number() noexcept;

// Returns true if the thread shall return from its wait as if it had been woken for no reason.
bool pass(Point point) noexcept;

}  // namespace lockswap::fuzz
