// One thread at a time: between two calls of lock functions only one thread of the process runs,
// and which one is next follows from the seed, or from a schedule that is played again.
//
// Source: S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, "A Randomized Scheduler with
//   Probabilistic Guarantees of Finding Bugs", ASPLOS 2010 (PCT).
// Idea: each thread has a random priority, and the greatest of those that can run has the turn. At
//   a few steps, which the seed draws from the length of a run, the thread that has it falls behind
//   all others.
// A thread that would have to wait is not let into the kernel: it gives the turn away, and looks at
//   the lock again when that was released. Condition variables are lists here, and the program's
//   objects are not touched; those that processes share are left to the next library.
// A thread that sleeps in another call, or computes for long, keeps the turn for a while and then
//   loses it. From then on the order depends on time, and the run says that it can't be repeated.
// Deviations: under half of the seeds all threads draw new priorities at each point, or at one in
//   two, four or eight, because PCT hardly finds a fault that needs more than three turns. If only
//   the running thread did, those with low priorities would seldom come to their turns. A thread
//   that passes many points in one go, or fails to get a lock by a try, falls behind all others,
//   because it may wait for one of them that way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <pthread.h>

#include "platform/atomic.h"

namespace lockswap::fuzz::serial {

// lockswap/fuzz/steps.py has these, too.
enum class Kind : std::uint8_t {
  lock,
  unlock,
  wait,
  signal,
  broadcast,
  create,
  join,
  end,
  attempt,
  lock_shared,
  turn,  // a turn that a schedule must name: `object` is the thread that has it next
};
struct Step {
  std::uint32_t thread;  // in the order in which they were created, the first is 0
  std::uint32_t count;   // points that it had passed
  std::uint32_t kind;
  std::uint32_t object;  // in the order in which they were met
  std::uint32_t module;
  std::uint32_t is_variable;  // of the module; the address is at[1] then
  std::uint64_t at[2];        // of the call and of the object, in the files
};
// It has no recording::Head, which a program of C++ would have to read: steps.py reads this file
// itself. relaxed, all: it does so when the process has ended.
struct Log {
  static constexpr std::size_t kSteps = 100'000;
  static constexpr std::size_t kModules = 64;

  NativeAtomic<std::uint64_t> process;      // whose it is; 0: nobody's yet
  NativeAtomic<std::uint64_t> steps;        // may be more than there is room for
  NativeAtomic<std::uint64_t> by_time;      // turns that were taken away from threads
  NativeAtomic<std::uint64_t> is_deadlock;  // no thread could run any more
  NativeAtomic<std::uint64_t> modules;
  std::uint64_t unused[3];  // zero
  char module[kModules][512];
  Step step[kSteps];
};

// At the start, in a program that is to run so. `log` and `schedule`: files, or nullptr; the second
// has a line for each turn: a thread, the points that it has passed, and the thread that is next.
// Returns false if the schedule can't be read.
bool prepare(const char* log, const char* schedule) noexcept;

// A point of the calling thread, which has the turn again on return. It comes before what the
// thread does, but after a release, a creation and a try that failed.
void point(Kind kind, const void* object, const void* caller) noexcept;
// The turn is another thread's until somebody wakes those that wait for the object. Returns false
// if nobody can any more: then the deadline, which it must have, is the only thing that can happen.
// `writes`: the object is a lock, and the thread doesn't only want to read.
bool wait_for(const void* object, bool has_deadline, bool writes = false) noexcept;
bool is_waited_for_to_write(const void* rwlock) noexcept;
void wake_all(const void* object) noexcept;
// Wakes the one with the greatest priority among those that wait for the object.
void wake_one(const void* object) noexcept;
// Makes a cancelled thread recheck whether it still has to wait.
void wake(pthread_t thread) noexcept;

// The creator calls create() before it creates a thread, and created() after that, with nullptr for
// `thread` if there is none. The new thread calls begin(). create() returns nullptr if there is no
// room; then the thread is taken for one that pthread_create did not make.
struct Thread;
Thread* create() noexcept;
void created(Thread* t, const pthread_t* thread) noexcept;
void begin(Thread* t) noexcept;
bool has_ended(pthread_t thread) noexcept;
// The calling thread waits in the kernel for a thread that has ended here, and keeps the turn.
void be_patient(bool begins) noexcept;

}  // namespace lockswap::fuzz::serial
