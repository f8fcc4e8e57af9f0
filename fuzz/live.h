// What each thread holds and waits for, and where, which `lockswap fuzz` shows of a program that
// hangs.
//
// State: a slot for each thread, in a file that the observer maps, too. Only its thread writes to a
//   slot. No word is read, modified and written by several threads, since that would order what
//   the program has not ordered. For the same reason all orders are relaxed.
// A reader may find a slot in the middle of a change, so it looks when nothing has changed for a
// while.
// Why not profile/live.h: that is a part of the profile's record, and names places by the numbers
//   of stacks and classes there. The guards of those tables would order the program's threads.
//   Stacks are unwound by the same code, which is in recording/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "platform/atomic.h"

namespace lockswap::fuzz {

// lockswap/fuzz/live.py has these layouts, too.
struct Held {
  NativeAtomic<std::uint64_t> object;
  NativeAtomic<std::uint64_t> caller;  // what the function that acquired it returns to
  NativeAtomic<std::uint64_t> mode;    // Waits, as the thread waited for it
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

  NativeAtomic<std::uint64_t> thread;  // its process above 32 bits of its id; 0: free
  NativeAtomic<std::uint64_t> points;  // that it has passed
  NativeAtomic<std::uint64_t> self;    // pthread_self() there; 0: it has ended
  NativeAtomic<std::uint64_t> waits;
  NativeAtomic<std::uint64_t> object;
  NativeAtomic<std::uint64_t> mutex;  // of a wait for a condition variable
  NativeAtomic<std::uint64_t> has_deadline;
  NativeAtomic<std::uint64_t> since_ns;  // of CLOCK_MONOTONIC
  NativeAtomic<std::uint64_t> frames;
  NativeAtomic<std::uint64_t> frame[kFrames];  // the stack of the wait, the innermost first
  NativeAtomic<std::uint64_t> holds;           // may be more than there is room for
  Held held[kHeld];
  NativeAtomic<std::uint64_t> signals;  // how many it has given; the last of them are here
  Signalled signalled[kSignalled];
};

static_assert(sizeof(Slot) == 768);

// Called at the start if somebody observes: maps `file`, which must be there and as long as the
// table. Without the table all functions below do nothing.
void prepare_slots(const char* file) noexcept;

// Counts a point that the calling thread has passed.
void count_point() noexcept;
void note_hold(const void* object, const void* caller, Waits mode) noexcept;
// Returns where it was acquired; nullptr if that isn't known.
const void* forget_hold(const void* object) noexcept;
void note_signal(const void* object, const void* caller, bool reaches_all) noexcept;

// While the calling thread waits, or may have to. It restores what the thread waited for before: a
// condition variable's wait acquires a mutex, and a signal handler may come in between.
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
