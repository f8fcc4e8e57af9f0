// Runs one thread at a time: between two calls of lock functions only one thread of the process
// runs. The seed selects which one is next, or a schedule that is replayed does.
//
// Source: S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, "A Randomized Scheduler with
//   Probabilistic Guarantees of Finding Bugs", ASPLOS 2010 (PCT).
// Idea: each thread has a random priority, and of those that can run, the one with the highest
//   priority has the turn. At a few steps, which the seed selects within the length of a run, the
//   current thread gets the lowest priority of all.
// Waits: a thread that would have to wait does not enter the kernel. It gives up the turn, and
//   checks the lock again after a release. Condition variables are lists here, and the program's
//   objects are not touched. Those that processes share are left to the next library.
// Other calls: a thread that sleeps in another call, or computes for long, loses the turn after a
//   while. From then on the order depends on timing, and the run reports that it can't be repeated.
// Deviations: under half of the seeds all threads draw new priorities at each point, or at every
//   second, fourth or eighth point on average, because PCT hardly finds a bug that needs more than
//   three changes of the turn. If only the running thread drew a new one, those with low priorities
//   would seldom get the turn. A thread that passes many points in a row, or whose try for a lock
//   fails, gets the lowest priority, because it may be polling for another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <pthread.h>

#include "platform/atomic.h"

namespace lockswap::fuzz::serial {

// lockswap/fuzz/steps.py has the same values.
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
  turn,  // a turn that a schedule must name: `object` is the next thread
};
struct Step {
  std::uint32_t thread;  // in order of creation, from 0
  std::uint32_t count;   // the number of points that it had passed
  std::uint32_t kind;
  std::uint32_t object;  // in order of first use
  std::uint32_t module;
  std::uint32_t is_variable;  // the object is a variable in the module, at address at[1]
  std::uint64_t at[2];        // addresses of the call and of the object, in their files
};
// Has no recording::Head, because steps.py reads this file itself. relaxed, all: it does so after
// the process has ended.
struct Log {
  static constexpr std::size_t kSteps = 100'000;
  static constexpr std::size_t kModules = 64;

  NativeAtomic<std::uint64_t> process;      // the owner; 0: none yet
  NativeAtomic<std::uint64_t> steps;        // the number; may exceed the room
  NativeAtomic<std::uint64_t> by_time;      // turns that were taken away because of time
  NativeAtomic<std::uint64_t> is_deadlock;  // no thread could run any more
  NativeAtomic<std::uint64_t> modules;
  std::uint64_t unused[3];  // zero
  char module[kModules][512];
  Step step[kSteps];
};

// Called at start-up of a program that must run like this. `log` and `schedule` are files or
// nullptr. Each line of a schedule is a turn: a thread, the number of points that it has passed,
// and the next thread. Returns false if the schedule can't be read.
bool prepare(const char* log, const char* schedule) noexcept;

// A point of the calling thread, which has the turn again on return. It comes before the thread's
// action, except for a release, a creation and a try that failed, which come before the point.
void point(Kind kind, const void* object, const void* caller) noexcept;
// Gives the turn to other threads until one of them wakes those that wait for the object. Returns
// false if no thread can do that any more. Then the thread must have a deadline, which is the only
// thing that can still happen. `writes`: the object is a lock that the thread wants to write.
bool wait_for(const void* object, bool has_deadline, bool writes = false) noexcept;
bool is_waited_for_to_write(const void* rwlock) noexcept;
void wake_all(const void* object) noexcept;
// Wakes the thread with the highest priority among those that wait for the object.
void wake_one(const void* object) noexcept;
// Makes a cancelled thread recheck whether it still has to wait.
void wake(pthread_t thread) noexcept;

// The creator calls create() before it creates a thread, and created() afterwards, with nullptr for
// `thread` if there is none. The new thread calls begin(). create() returns nullptr if there is no
// room, and then the thread counts as one that pthread_create did not make.
struct Thread;
Thread* create() noexcept;
void created(Thread* t, const pthread_t* thread) noexcept;
void begin(Thread* t) noexcept;
bool has_ended(pthread_t thread) noexcept;
// Called when the calling thread begins or ends a wait in the kernel for a thread that has ended
// here. It keeps the turn meanwhile.
void be_patient(bool begins) noexcept;

}  // namespace lockswap::fuzz::serial
