// The next thread to go in, where several wait for a lock: a choice by the seed.
//
// Idea: a thread that finds a lock taken does not queue at it. It stands in a gate, with a number
//   that follows from the seed, its name and its count. Whenever the lock is released, the thread
//   in the gate whose number is the greatest looks at the lock, and all others let it. If the lock
//   is free, the thread makes the program's call, and stays in the gate until it has the lock.
// Why no right program hangs by it: the gate is a delay. After 50 ms a thread looks now and then,
//   whatever its number is, and after a second it leaves the gate for the lock's own queue. That
//   also ends a wait for a thread that has the greatest number and can't go in (a writer, while
//   readers that wait for each other are in), or that is gone (cancelled asynchronously; a child of
//   fork has the parent's table).
// A timed acquisition leaves the gate after 50 ms, so it ends so much late at most, as any delay
//   makes it. Locks that other processes or condition variables release are tried now and then.
// State: a table of places. Nothing is stored in the lock, which may be gone after its release.
#pragma once

#include <cstdint>

namespace lockswap::fuzz {

// The calling thread waits for its turn at the lock. `number`: its own in this acquisition.
class Gate {
 public:
  Gate(const void* lock, std::uint64_t number, bool is_timed) noexcept;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Returns true if it is this thread's turn to look at the lock, now. Returns false if the time is
  // over.
  bool turn() noexcept;

 private:
  const void* lock_;
  std::uint64_t number_;
  std::uint64_t overdue_;    // from then on it looks whatever its number is
  std::uint64_t until_ = 0;  // then it leaves
  std::uint32_t seen_ = 0;
  bool tried_ = false;
  int place_ = -1;  // -1: none was free
};

// After each release: those in the gate look whose turn it is.
void open_gate() noexcept;

}  // namespace lockswap::fuzz
