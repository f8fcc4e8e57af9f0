// What each thread holds and waits for, and where. `lockswap fuzz` shows it for a program that
// hangs.
//
// State: a slot for each thread, in a file that the observer maps as well. Only its own thread
//   writes to a slot. No word is a target of read-modify-writes by several threads, since that
//   would order what the program has not ordered. For the same reason all orders are relaxed.
// Readers: a slot may be in the middle of a change, so a reader reads it only when nothing has
//   changed for a while.
// Why not profile/live.h: that is a part of the profile's record, and identifies places by numbers
// of its stacks and classes, whose guards would order the program's threads. Both unwind stacks by
// the code in recording/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "platform/atomic.h"

namespace lockswap::fuzz {

// lockswap/fuzz/live.py has the same layouts.
struct Held {
  NativeAtomic<std::uint64_t> object;
  NativeAtomic<std::uint64_t> caller;  // the return address of the function that acquired it
  NativeAtomic<std::uint64_t> mode;    // a Waits: how it was acquired
};
struct Signalled {
  NativeAtomic<std::uint64_t> object;
  NativeAtomic<std::uint64_t> caller;
  NativeAtomic<std::uint64_t> at_ns;
  NativeAtomic<std::uint64_t> reaches_all;
};
enum class Waits : std::uint8_t { not_at_all, mutex, to_read, to_write, cond, join };

struct alignas(64) Slot {
  static constexpr std::size_t kHeld = 16;
  static constexpr std::size_t kFrames = 16;
  static constexpr std::size_t kSignalled = 4;

  // The process in the upper 32 bits, the thread id below; 0: free.
  NativeAtomic<std::uint64_t> thread;
  NativeAtomic<std::uint64_t> points;  // the number that it has passed
  NativeAtomic<std::uint64_t> self;    // pthread_self(); 0: the thread has ended
  NativeAtomic<std::uint64_t> waits;
  NativeAtomic<std::uint64_t> object;
  NativeAtomic<std::uint64_t> mutex;  // in a wait for a condition variable
  NativeAtomic<std::uint64_t> has_deadline;
  NativeAtomic<std::uint64_t> since_ns;  // of CLOCK_MONOTONIC
  NativeAtomic<std::uint64_t> frames;
  NativeAtomic<std::uint64_t> frame[kFrames];  // the stack of the wait, innermost first
  NativeAtomic<std::uint64_t> holds;           // the number of holds; may exceed kHeld
  Held held[kHeld];
  NativeAtomic<std::uint64_t> signals;  // the number of signals sent; the last ones are below
  Signalled signalled[kSignalled];
};

static_assert(sizeof(Slot) == 768);

// Called at start-up if there is an observer. Maps `file`, which must exist with the length of the
// table. Without the table the functions below do nothing.
void prepare_slots(const char* file) noexcept;

// Counts a point that the calling thread has passed.
void count_point() noexcept;
void note_hold(const void* object, const void* caller, Waits mode) noexcept;
// Returns where it was acquired, or nullptr if that is unknown.
const void* forget_hold(const void* object) noexcept;
void note_signal(const void* object, const void* caller, bool reaches_all) noexcept;

// Exists while the calling thread waits, or may have to. The destructor restores what the thread
// waited for before: a wait for a condition variable acquires a mutex, and a signal handler may
// interrupt a wait.
class Waiting {
 public:
  Waiting(Waits how, const void* object, const void* mutex, bool has_deadline, const void* caller,
          bool with_stack) noexcept;
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Slot* slot_;
  std::uint64_t waits_ = 0;
  std::uint64_t object_ = 0;
};

}  // namespace lockswap::fuzz
