// The audit's bookkeeping under many threads: locks are initialised, taken, released by others and
// destroyed at random places, and the counts must be exact at the end. It is built a second time
// under ThreadSanitizer.
//   audit_stress ROUNDS
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "audit/fork.h"
#include "audit/report.h"
#include "audit/rwlock.h"
#include "audit/waits.h"
#include "audit/world.h"
#include "platform/libc_watch.h"

using lockswap::system_rwlock;
using namespace lockswap::audit;

#if defined(__SANITIZE_THREAD__)
// Its deadlock detector ends a program whose threads hold 64 locks.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }
#endif

namespace {

constexpr int kThreads = 8, kLocks = 64;
#if defined(__SANITIZE_THREAD__)
constexpr int kForks = 0;  // it does not follow a fork of many threads
#else
constexpr int kForks = 20;
#endif

// A lock that everybody uses, and how often it was taken.
struct Shared {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  std::uint64_t value = 0;  // written under the lock
};

std::uint64_t total(Count c) {
  std::uint64_t sum = 0;
  for (const auto& stripe : record().counts)
    sum += stripe[static_cast<std::size_t>(c)].load(lockswap::relaxed);
  return sum;
}
std::uint64_t times(Finding f) {
  return record().findings[static_cast<std::size_t>(f)].times.load(lockswap::relaxed);
}

int failures = 0;
void expect(const char* what, std::uint64_t got, std::uint64_t want) {
  if (got == want) return;
  ++failures;
  std::printf("%s: %llu, not %llu\n", what, static_cast<unsigned long long>(got),
              static_cast<unsigned long long>(want));
}

void check(bool good) {
  if (!good) std::abort();
}

struct Tally {
  std::atomic<std::uint64_t> reads, writes, recursive, inits, seen;
};
Tally tally;

// Locks of a thread's own come and go, at addresses that threads share over time.
void own_locks(unsigned& random) {
  const auto n = 1 + random % 100;
  auto* locks = static_cast<pthread_rwlock_t*>(::operator new(n * sizeof(pthread_rwlock_t)));
  for (unsigned i = 0; i < n; ++i)
    check(audited_rwlock.init(&locks[i], nullptr) == 0);
  for (unsigned i = 0; i < n; ++i)
    check(audited_rwlock.wrlock(&locks[i]) == 0);
  for (unsigned i = 0; i < n; ++i)
    check(audited_rwlock.unlock(&locks[i]) == 0);
  for (unsigned i = 0; i < n; ++i)
    check(audited_rwlock.destroy(&locks[i]) == 0);
  ::operator delete(locks);
  tally.writes += n;
  tally.inits += n;
}

void work(std::vector<Shared>& all, unsigned random, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    random = random * 1664525 + 1013904223;
    Shared& s = all[random / 65536 % kLocks];
    switch (random >> 29) {
      case 0:
        own_locks(random);
        break;
      case 1:
      case 2:
        check(audited_rwlock.wrlock(&s.lock) == 0);
        ++s.value;
        check(audited_rwlock.unlock(&s.lock) == 0);
        ++tally.writes;
        break;
      case 3:  // recursive
        check(audited_rwlock.rdlock(&s.lock) == 0);
        check(audited_rwlock.tryrdlock(&s.lock) == 0);
        check(audited_rwlock.unlock(&s.lock) == 0);
        check(audited_rwlock.unlock(&s.lock) == 0);
        tally.reads += 2;
        ++tally.recursive;
        break;
      case 4: {  // two at a time, in any order; no writer holds two of these
        Shared& t = all[random / 1024 % kLocks];
        if (&t == &s) break;
        check(audited_rwlock.rdlock(&s.lock) == 0);
        check(audited_rwlock.rdlock(&t.lock) == 0);
        check(while_waiting(1, [] { return 0; }) == 0);
        check(audited_rwlock.unlock(&s.lock) == 0);
        check(audited_rwlock.unlock(&t.lock) == 0);
        tally.reads += 2;
        break;
      }
      default:
        check(audited_rwlock.rdlock(&s.lock) == 0);
        check(audited_rwlock.unlock(&s.lock) == 0);
        ++tally.reads;
    }
  }
}

// Forks while the others are at it; the child's book must be free to use.
void forks(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    before_fork();
    const pid_t child = fork();
    if (child == 0) {
      after_fork_in_child();
      pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
      _exit(audited_rwlock.wrlock(&lock) + audited_rwlock.unlock(&lock));
    }
    after_fork_in_parent();
    int status = 1;
    check(waitpid(child, &status, 0) == child && status == 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
  system_rwlock = {
      pthread_rwlock_init,        pthread_rwlock_destroy,     pthread_rwlock_rdlock,
      pthread_rwlock_tryrdlock,   pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
      pthread_rwlock_wrlock,      pthread_rwlock_trywrlock,   pthread_rwlock_timedwrlock,
      pthread_rwlock_clockwrlock, pthread_rwlock_unlock};
  lockswap::ThreadExit::prepare(&lockswap::watched_by_libc);
  prepare_world();
  std::vector<Shared> all(kLocks);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&all, t, rounds] { work(all, 77 * t + 1, rounds); });
  forks(kForks);
  for (auto& thread : threads)
    thread.join();

  expect("reads", total(Count::reads), tally.reads);
  expect("writes", total(Count::writes), tally.writes);
  expect("recursive reads", times(Finding::recursive_read), tally.recursive);
  expect("locks", total(Count::rwlocks), tally.inits + kLocks);
  expect("unrecorded", total(Count::unrecorded), 0);
  for (const Finding f :
       {Finding::self_deadlock, Finding::foreign_read_release, Finding::foreign_write_release,
        Finding::release_of_unheld, Finding::destroy_while_held, Finding::init_while_held,
        Finding::used_before_seen, Finding::memory_reset_while_held, Finding::in_signal_handler,
        Finding::opposite_orders, Finding::opposite_mixed_orders})
    expect(kFindingNames[static_cast<std::size_t>(f)], times(f), 0);
  expect("opposite orders were found", times(Finding::opposite_read_orders) != 0 ? 1 : 0, 1);
  std::puts(failures == 0 ? "good" : "failed");
  return failures == 0 ? 0 : 1;
}
