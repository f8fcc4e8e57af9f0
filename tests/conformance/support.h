// The conformance cases share this: return codes that print as names, threads that do one thing at
// a time on request, and a lock with data that shows a breach of exclusion.
//
// The cases see a lock only through <pthread.h>: this directory includes nothing of lockswap. The
// tests' own hand-shakes are built on std::atomic waits, not on pthread objects, so that a broken
// lock cannot break the test that judges it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <ostream>
#include <pthread.h>
#include <random>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

namespace conformance {

// ---- what is under test -------------------------------------------------------------------------

// The lock's name as asked for in LOCKSWAP_RWLOCK, "" for plain glibc.
const std::string& lock_under_test();
// The same for LOCKSWAP_MUTEX.
const std::string& mutex_under_test();
// What lockswap-registry says of the lock, a name of a flag there.
bool lock_is(const char* flag);
// Mutexes, or condition variables, are glibc's own.
bool glibc_mutexes();
bool glibc_conds();
// Bare spinning: with more threads than processors a hand-off may take many time slices, so cases
// with many threads do less work.
bool spinning();
// glibc's own lock is in charge (plain, passed through, or under BRAVO): what glibc itself cannot
// do cannot be asked of it here either.
bool glibc_underneath();
// Readers that keep coming may keep writers out for ever.
bool readers_may_starve_writers();
bool bravo_over_glibc();
// RWLOCK_TEST_PERCENT of `n`, at least 1: less in a sample, more in the full set.
int scaled(int n);
// The same, but at least `n`, for counts that must exceed some size.
int scaled_up(int n);
// RWLOCK_TEST_TIME_PERCENT of `ms`, at least 1, for threads that hammer a lock by the clock where
// it is not a rare moment that breaks it.
int scaled_time(int ms);
// Processors this process may run on.
int processors();

// ---- return codes -------------------------------------------------------------------------------

// A return value of a pthread function, together with whether the call left errno alone.
struct Rc {
  int value = 0;
  bool errno_kept = true;
  bool operator==(const Rc& o) const { return value == o.value && errno_kept == o.errno_kept; }
};
std::string errno_name(int value);
std::ostream& operator<<(std::ostream& out, const Rc& rc);
Rc call(const std::function<int()>& f);

// The call returns exactly `expected` and does not touch errno.
#define EXPECT_RC(expected, expression)                                                       \
  EXPECT_EQ(::conformance::Rc{(expected)}, ::conformance::call([&] { return (expression); })) \
      << #expression
#define ASSERT_RC(expected, expression)                                                       \
  ASSERT_EQ(::conformance::Rc{(expected)}, ::conformance::call([&] { return (expression); })) \
      << #expression

// ---- deadlines ----------------------------------------------------------------------------------

timespec now(clockid_t clock);
timespec after(clockid_t clock, std::int64_t nanoseconds);  // may be negative
bool reached(clockid_t clock, const timespec& deadline);    // the clock has come to `deadline`
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kMicrosecond = 1'000;
// Steady milliseconds since some start.
std::int64_t milliseconds();

// ---- actors -------------------------------------------------------------------------------------

// A thread that performs one task at a time. `run` waits for the task, `start` does not.
class Actor {
 public:
  Actor();
  ~Actor();  // waits for the task under way
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  void start(std::function<void()> task);
  void finish();      // waits until the task has returned
  bool done() const;  // the task has returned
  void run(std::function<void()> task) {
    start(std::move(task));
    finish();
  }

  // Gives the task time to get as far as it can: returns once it is done, sleeps in the kernel, or
  // has used some milliseconds of processor time (it spins). Bounded, so a slow machine only
  // weakens the test: nothing that is asserted afterwards depends on how far the task came.
  void wait_until_asleep() const;
  // Gives the task that time; true: it is still inside its call.
  bool blocked() const {
    wait_until_asleep();
    return !done();
  }

 private:
  enum : int { kIdle, kPosted, kRunning, kQuit };
  void loop();
  std::atomic<int> state_{kIdle};
  std::atomic<int> tid_{0};
  std::function<void()> task_;
  std::thread thread_;
};

// ---- guarded data -------------------------------------------------------------------------------

// A lock and data whose invariant only exclusion preserves. Zero bytes are a valid start.
struct Guarded {
  pthread_rwlock_t lock;
  std::atomic<int> readers;
  std::atomic<int> writers;
  std::atomic<std::uint64_t> first;  // relaxed accesses: equal unless a writer is inside
  std::atomic<std::uint64_t> second;
  std::atomic<std::uint64_t> violations;

  void read_inside();   // call with the lock held for reading
  void write_inside();  // call with the lock held for writing
};

// `lock` is free and does what a lock does: readers share, a writer excludes both.
void expect_works(pthread_rwlock_t* lock);
// Nobody holds `lock`: another thread gets it for writing at once.
void expect_free(pthread_rwlock_t* lock);

// Runs body(thread index, generator) on each thread, again and again, for about `ms` milliseconds
// and at least once.
using Body = std::function<void(int, std::mt19937&)>;
void hammer(int threads, int ms, const Body& body);
// The seed of this process's random choices: RWLOCK_TEST_SEED, or the time; printed where a case
// fails.
std::uint32_t seed();

// Reads until any reader bias that a lock may have had the occasion to switch on.
void warm_up_readers(pthread_rwlock_t* lock, int rounds = 3000);

// Runs f in a forked child that shares memory only where the caller arranged it; returns the wait
// status. The child leaves by _exit: 0 where f returned 0 and no expectation failed in it.
int in_child(const std::function<int()>& f);
// The same in two steps, so that children run beside the parent. Start them before any threads: a
// child of a process with threads may find glibc's own locks taken for ever once it creates a
// thread itself.
pid_t start_child(const std::function<int()>& f);
int end_of_child(pid_t pid);

// The command that runs this program again with these arguments. TESTS_EMULATOR names what runs
// programs of this architecture, where the kernel doesn't.
std::vector<std::string> self_command(std::vector<std::string> arguments);
// For execve: pointers to the words, and a null pointer.
std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace conformance
