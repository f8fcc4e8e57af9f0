// Threads that wait for other threads (for a condition variable, the end of a thread, a barrier)
// while they read a lock that another thread asks to write. Under glibc's lock, readers that the
// wait depends on still get in; under a fair one they wait behind that writer.
#pragma once

#include <cstdint>

#include "audit/book.h"
#include "audit/me.h"
#include "audit/world.h"

namespace lockswap::audit {

// In the book the thread's read holds say where it waits, or that it does not any more.
void begin_wait(Me& m, std::uint64_t site) noexcept;
void end_wait(Me& m) noexcept;

// A writer asks for this lock, and will wait. With the guard of its shard held.
void look_at_waiting_readers(LockEntry& entry, const Me& m, std::uint64_t site) noexcept;

// wait(), which may be a cancellation point: then what comes after it is left out, and the marks
// stay until the holds end.
template <class Wait>
int while_waiting(std::uint64_t site, Wait wait) noexcept {
  Me& m = me();
  begin_wait(m, site);
  const int error = wait();
  end_wait(m);
  return error;
}

// Returns whether that is worth it: few threads that wait hold a lock.
inline bool holds_locks() noexcept {
  const Me& m = me();
  return !m.busy && !m.held.locks.empty() && m.process == world().number;
}

}  // namespace lockswap::audit
