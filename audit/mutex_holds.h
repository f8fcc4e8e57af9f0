// The mutexes that a thread holds, as it remembers them itself.
#pragma once

#include <cstdint>

#include "audit/me.h"

namespace lockswap::audit {

void remember_mutex(Me& m, std::uint64_t address, std::uint64_t site, bool is_robust) noexcept;
void forget_held_mutex(Me& m, std::uint64_t address) noexcept;
// The thread has released it, at that time.
void end_hold_of_mutex(Me& m, std::uint64_t address, std::uint64_t now) noexcept;

// A wait for a condition variable releases this one, and takes it again before it returns,
// whatever the thread holds besides. The thread is about to do that.
void takes_again(Me& m, std::uint64_t address, std::uint64_t site) noexcept;
// It has done that. A wait that is cancelled doesn't come here: the hold behind it isn't timed.
void has_taken_again(Me& m, std::uint64_t address) noexcept;

// Those that other threads have released in its place are forgotten.
void forget_taken_mutexes(Me& m) noexcept;

inline bool holds_any(const Me& m) noexcept {
  return !m.held.locks.empty() || !m.held.mutexes.empty();
}

// Returns whether glibc's word for the owner says so. The memory may be gone.
bool shows_owner(std::uint64_t mutex, std::uint32_t tid) noexcept;

// The process ends: holds that were not released count up to now.
void note_times_of_open_mutexes() noexcept;

// The thread ends. Notes each that it still holds, until somebody releases it: a destructor of the
// thread's, or another thread. Memory that is gone is a lock no more.
void note_mutexes_at_end(Me& m) noexcept;

void look_at_order_of_mutex(Me& m, std::uint64_t address, std::uint64_t site) noexcept;

}  // namespace lockswap::audit
