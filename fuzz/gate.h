// Selects, by the seed, which of several threads that wait for a lock gets it next.
//
// Idea: a thread that finds a lock taken does not queue at it. It waits in a gate, with a number
//   that depends on the seed, its name and its count. Whenever the lock is released, only the
//   thread in the gate with the greatest number polls the lock. If the lock is free, the thread
//   makes the program's call, and stays in the gate until it has the lock.
// Progress: the gate only delays, so no correct program hangs because of it. After 50 ms
//   (Settings::turn_ms) a thread polls now and then, whatever its number is, and a second later it
//   leaves the gate and queues at the lock. That also helps if the thread with the greatest number
//   can't get the lock (a writer, while readers that wait for each other have it), or is gone
//   (cancelled asynchronously, or in a child of fork, which has the parent's table).
//   A timed acquisition leaves the gate after 50 ms, so it is at most that late. Locks that other
//   processes or condition variables release are polled now and then.
// State: a table of places. Nothing is stored in the lock, which may be gone after its release.
#pragma once

#include <cstdint>

namespace lockswap::fuzz {

// The calling thread's wait for its turn at the lock. `number` is its number for this acquisition.
class Gate {
 public:
  Gate(const void* lock, std::uint64_t number, bool is_timed) noexcept;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Returns true when it is this thread's turn to poll the lock. Returns false if its time is over.
  bool turn() noexcept;

 private:
  const void* lock_;
  std::uint64_t number_;
  std::uint64_t overdue_;    // from then on it polls regardless of its number
  std::uint64_t until_ = 0;  // then it leaves
  std::uint32_t seen_ = 0;
  bool tried_ = false;
  int place_ = -1;  // -1: none was free
};

// Called after each release: the threads in the gate check whose turn it is.
void open_gate() noexcept;

}  // namespace lockswap::fuzz
