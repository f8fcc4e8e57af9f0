// A lock as scripts see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "locks/common/claims.h"
#include "multicore/explore/machine.h"
#include "observer.h"

namespace lockswap::explore {

// What may come upon a thread that sleeps on a condition variable, right before it falls asleep for
// the first time or right after it wakes up.
struct Interruption {
  bool cancellable = false;
  bool has_mutex = true;  // false: the mutex is not the thread's, which it says (EPERM)
  // A signal handler, which runs once in an execution, and when.
  std::function<void()> handler = {};
  bool before = true, after = true;
};

class LockUnderTest {
 public:
  virtual ~LockUnderTest() = default;
  virtual void begin() = 0;         // a new lock, always at the same place
  virtual void begin_zeroed() = 0;  // zeroed memory: the first call makes it a lock
  virtual int read(How how) = 0;
  virtual int write(How how) = 0;
  virtual int unlock(bool is_write) = 0;
  virtual void destroy() = 0;
  virtual std::uint64_t key() const = 0;
  virtual bool at_rest() = 0;  // nobody holds it or waits
  virtual bool has_fast_readers() const { return false; }
  // A writer that locks again gets EDEADLK.
  virtual bool tells_deadlocks() const { return false; }
  virtual Claims claims() const = 0;
  // Whether a reader may wait for readers. Not the claim that it does so always.
  virtual bool readers_wait_for_readers() const { return claims().readers_exclude; }

  // For a mutex: the condition variables that are used with it, by number.
  virtual int cond_wait(int, How, const Interruption&) {
    machine.fail("it has no condition variable");
  }
  virtual void cond_signal(int) { machine.fail("it has no condition variable"); }
  virtual void cond_broadcast(int) { machine.fail("it has no condition variable"); }
  virtual void cond_destroy(int) { machine.fail("it has no condition variable"); }
};

inline const Deadline* deadline_for(How how) {
  switch (how) {
    case How::timed:
      return machine.deadline(Machine::When::some_time);
    case How::late:
      return machine.deadline(Machine::When::over);
    case How::far:
      return machine.deadline(Machine::When::far);
    default:
      return nullptr;
  }
}

// Two locks at most, and as many condition variables.
inline constexpr int kPlaces = 2;
inline constexpr std::size_t kPlaceBytes = 1024;
// Where the lock lies, in each process: traces and replay strings depend on it through hashing.
void* lock_memory(int place);
void* cond_memory(int place);

}  // namespace lockswap::explore
