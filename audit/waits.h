// Threads that wait for other threads (for a condition variable, the end of a thread, a barrier)
// while they hold a lock for reading that another thread asks to write. Under glibc's lock, readers
// that the wait depends on still get in. Under a fair lock they wait behind that writer.
#pragma once

#include <cstdint>

#include "audit/book.h"
#include "audit/me.h"
#include "audit/world.h"

namespace lockswap::audit {

// Notes in the book, at the thread's read holds, where it waits or that it no longer does.
void begin_wait(Me& m, std::uint64_t site) noexcept;
void end_wait(Me& m) noexcept;

// Called when a writer asks for this lock and will wait. The guard of its shard must be held.
void look_at_waiting_readers(LockEntry& entry, const Me& m, std::uint64_t site) noexcept;

// Calls wait(), which may be a cancellation point. If it is cancelled, the code after it does not
// run, and the marks stay until the holds end.
template <class Wait>
int while_waiting(std::uint64_t site, Wait wait) noexcept {
  Me& m = me();
  begin_wait(m, site);
  const int error = wait();
  end_wait(m);
  return error;
}

// Returns whether that is worthwhile: few waiting threads hold a lock.
inline bool holds_locks() noexcept {
  const Me& m = me();
  return !m.busy && !m.held.locks.empty() && m.process == world().number;
}

}  // namespace lockswap::audit
