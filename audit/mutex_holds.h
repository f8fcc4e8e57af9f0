// The mutexes that a thread holds, as it recorded them itself.
#pragma once

#include <cstdint>

#include "audit/me.h"

namespace lockswap::audit {

void remember_mutex(Me& m, std::uint64_t address, std::uint64_t site, bool is_robust) noexcept;
void forget_held_mutex(Me& m, std::uint64_t address) noexcept;
// Called when the thread has released the mutex, at time `now`.
void end_hold_of_mutex(Me& m, std::uint64_t address, std::uint64_t now) noexcept;

// Called before a wait for a condition variable. The wait releases this mutex and takes it again
// before it returns, whatever else the thread holds.
void takes_again(Me& m, std::uint64_t address, std::uint64_t site) noexcept;
// Called after that wait. A wait that is cancelled doesn't get here, so the hold after it isn't
// timed.
void has_taken_again(Me& m, std::uint64_t address) noexcept;

// Forgets the mutexes that other threads have released in place of this one.
void forget_taken_mutexes(Me& m) noexcept;

inline bool holds_any(const Me& m) noexcept {
  return !m.held.locks.empty() || !m.held.mutexes.empty();
}

// Returns whether glibc's word for the owner names that thread. The memory may be gone.
bool shows_owner(std::uint64_t mutex, std::uint32_t tid) noexcept;

// Called when the process ends: counts unreleased holds up to now.
void note_times_of_open_mutexes() noexcept;

// Called when the thread ends: notes each mutex that it still holds, until a destructor of the
// thread or another thread releases it. If its memory is gone, it is not a lock any more.
void note_mutexes_at_end(Me& m) noexcept;

void look_at_order_of_mutex(Me& m, std::uint64_t address, std::uint64_t site) noexcept;

}  // namespace lockswap::audit
