// What the threads of a case do, as words:
//
//   R W              acquire for reading, writing; then read, write the protected data
//   tryR tryW        the try forms: 0 or EBUSY. timedR timedW: 0 or ETIMEDOUT. lateR lateW: the
//                    same with a deadline that has passed. farR farW: with one that never comes,
//                    so a wait that nothing but its deadline would end is a deadlock
//   u                release the newest acquisition of this thread. Skipped if that one failed,
//                    together with what lies between
//   U                the same of the oldest one
//   free             release a hold that another thread acquired
//   x                read (or write) the data again
//   +1 ?1            set event 1; wait for event 1 (release, acquire: the program's own order)
//   alone begin      from here on the process has one thread, this one, and says so (P::is_alone);
//                    it makes the others, which begin with ?0. To be alone again, it waits for an
//                    event of each first, as pthread_join does
//   exit             the thread ends, another begins in its place
//   destroy          destroy the lock: nothing but wakes of its address may follow
//   init             make a new lock at the same address
//   fork             the process forks. The execution goes on in the child, where the other threads
//                    begin anew behind their `|`; without one they are gone. Again for a grandchild
//   put take see     of a mutex, while it is held: adds 1 to a counter, which is 0 at first; waits
//                    by the condition variable until it is not 0, and subtracts 1, or does not.
//                    timedtake latetake fartake: with a deadline, as above. canceltake: a
//                    cancellation may come. A thread that gets nothing goes on at its next u
//                    stoptake halttake: a signal handler may come that waits for event 9, before
//                    the thread sleeps or when it has been woken. forktake: one that forks, as
//                    `fork`, if it gets the mutex by a try
//   stray            waits by the condition variable without having the mutex, which the mutex says
//   nap              sleeps until no other thread can go on
//   fifo3            the thread has real-time priority 3 from now on; fifo0: none
//   lift2            thread 2 has real-time priority 1 from now on
//   signal broadcast cdestroy   of the condition variable
//   2W 2tryR 2free   ... of the second lock; `u` and `x` find out themselves. 2take 2signal ...: of
//                    the second condition variable. A thread waits with the mutex that it has
//                    acquired last. Each condition variable has a counter with each mutex
//   word=0 word!     an acquisition that must succeed; one that must not
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "multicore/explore/plain.h"
#include "under_test.h"

namespace lockswap::explore {

struct Case {
  std::string name;  // lock/wait policy/script
  LockUnderTest* lock = nullptr;
  LockUnderTest* second = nullptr;  // the lock of words with a 2, if there are any
  std::vector<std::string> threads;
  Bounds bounds;         // of the full run
  Bounds quick_bounds;   // of the run with each change
  bool sampled = false;  // too many threads for all executions: by default, pct
  // BRAVO: the slot of each thread's fast holds (none: no table), and whether the bias is on.
  std::vector<int> slots;
  bool biased = false;
  // Readers have patience, which runs out when no thread can go on; `impatient`: at any time.
  bool patient = false;
  bool impatient = false;
  // For a lock that rations hand-offs: each release hands off; a reserved lock may be taken back.
  bool at_once = false;
  bool takes_back = false;
  // For such a lock: each thread that finds it locked takes a back-off sleep and counts releases.
  bool leaves_to_one = false;
  bool ticks = false;   // the clock goes on at each look: an inhibition lasts
  bool seldom = false;  // a reader thinks of the bias at every other slow read alone
  // A wake-up of one thread wakes the one that fell asleep first, as the kernel does.
  bool wakes_in_order = false;
  // A lock's second wake-up of one thread on a word waits until a thread has looked.
  bool wakes_one_at_a_time = false;
  bool zeroed = false;          // nobody has initialised the lock
  bool may_switch_off = false;  // the kill switch may be turned at any moment
  bool spins = false;           // the only waiter of a condition variable may spin before it sleeps
  bool destroys = false;
  bool in_larger = false;  // another case of the run with each change contains this one
  // How many acquisitions there were before the script begins.
  std::uint64_t wound_writes = 0, wound_reads = 0, wound_locks = 0;
  bool somebody_gets_in = false;  // one acquisition at least must succeed
  bool gives_back_nodes = false;  // at the end, when the lock is free, it has no queue nodes
  // Makes the scenario of what is no reader-writer lock (range_cases.cpp).
  std::function<Scenario()> other = {};

  Scenario scenario() const;
};
// A reference to a case stays valid while others are added behind it.
using Cases = std::deque<Case>;

// Small enough that its scan is short, large enough for four readers with a slot each.
inline constexpr int kTableSlots = 4;

}  // namespace lockswap::explore
