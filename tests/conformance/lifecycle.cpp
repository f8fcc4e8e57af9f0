// Locks before main, after main and while dlopen runs. A scenario runs by its name
// (rwlock_conformance --lifecycle NAME); a case below starts each.
#include "lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

extern "C" bool conformance_hook_wanted;

namespace conformance {

namespace {

using L = pthread_rwlock_t;

// ---- before main: .preinit_array runs before the constructor of any shared library

int preinit_failures, preinit_calls;
L preinit_lock = PTHREAD_RWLOCK_INITIALIZER;  // held for reading until main
L preinit_written;                            // held for writing until main

void preinit_check(int expected, int got) {
  ++preinit_calls;
  if (expected != got) ++preinit_failures;
}

// Only in the cases that ask for it: a library that misses its start here must not fail all others.
void in_preinit(int argc, char** argv, char**) {
  if (argc < 3 || strstr(argv[2], "Preinit") == nullptr) return;
  L local;
  preinit_check(0, pthread_rwlock_init(&local, nullptr));
  const timespec past{0, 0};
  for (int i = 0; i < 100; ++i) {
    preinit_check(0, pthread_rwlock_rdlock(&local));
    preinit_check(0, pthread_rwlock_tryrdlock(&local));
    preinit_check(0, pthread_rwlock_timedrdlock(&local, &past));
    preinit_check(0, pthread_rwlock_clockrdlock(&local, CLOCK_MONOTONIC, &past));
    preinit_check(EBUSY, pthread_rwlock_trywrlock(&local));
    preinit_check(ETIMEDOUT, pthread_rwlock_timedwrlock(&local, &past));
    for (int n = 0; n < 4; ++n)
      preinit_check(0, pthread_rwlock_unlock(&local));
    preinit_check(0, pthread_rwlock_wrlock(&local));
    preinit_check(EDEADLK, pthread_rwlock_rdlock(&local));
    preinit_check(0, pthread_rwlock_unlock(&local));
  }
  preinit_check(0, pthread_rwlock_destroy(&local));
  preinit_check(0, pthread_rwlock_rdlock(&preinit_lock));
  preinit_check(0, pthread_rwlock_wrlock(&preinit_written));
}

[[gnu::section(".preinit_array"), gnu::used]] void (*preinit_entry)(int, char**,
                                                                    char**) = in_preinit;

int constructor_failures;
L constructor_lock = PTHREAD_RWLOCK_INITIALIZER;
[[gnu::constructor(101)]] void in_constructor() {
  constructor_failures += pthread_rwlock_wrlock(&constructor_lock) != 0;
  constructor_failures += pthread_rwlock_unlock(&constructor_lock) != 0;
  constructor_failures += pthread_rwlock_rdlock(&constructor_lock) != 0;
}

// ---- at exit

L exit_read = PTHREAD_RWLOCK_INITIALIZER, exit_written = PTHREAD_RWLOCK_INITIALIZER, exit_new;

void insist(bool good, const char* what) {
  if (good) return;
  dprintf(STDERR_FILENO, "at exit: %s\n", what);
  _exit(3);
}

void use_locks_at_exit() {
  for (int i = 0; i < 100; ++i) {
    insist(pthread_rwlock_rdlock(&exit_new) == 0, "rdlock");
    insist(pthread_rwlock_rdlock(&exit_new) == 0, "rdlock again");
    insist(pthread_rwlock_unlock(&exit_new) == 0, "unlock");
    insist(pthread_rwlock_unlock(&exit_new) == 0, "unlock again");
    insist(pthread_rwlock_wrlock(&exit_new) == 0, "wrlock");
    insist(pthread_rwlock_wrlock(&exit_new) == EDEADLK, "wrlock twice");
    insist(pthread_rwlock_unlock(&exit_new) == 0, "unlock of a write");
  }
}

void release_at_exit() {
  insist(pthread_rwlock_unlock(&exit_read) == 0, "unlock of a read hold from main");
  insist(pthread_rwlock_unlock(&exit_written) == 0, "unlock of a write hold from main");
  insist(pthread_rwlock_trywrlock(&exit_read) == 0, "trywrlock after it");
  insist(pthread_rwlock_trywrlock(&exit_written) == 0, "trywrlock after it");
}

struct UsesLocksWhenDestroyed {
  bool active = false;
  ~UsesLocksWhenDestroyed() {
    if (active) use_locks_at_exit();
  }
} static_object;

int scenario_exit(bool by_return) {
  static_object.active = true;
  atexit(use_locks_at_exit);
  atexit(release_at_exit);
  if (pthread_rwlock_rdlock(&exit_read) != 0 || pthread_rwlock_wrlock(&exit_written) != 0) return 1;
  if (by_return) return 0;
  exit(0);
}

// Detached threads lock while the process goes down.
int scenario_exit_amid_threads() {
  static Guarded guarded;
  static std::atomic<int> running{0};
  static_object.active = true;
  atexit(use_locks_at_exit);
  for (int i = 0; i < 3; ++i)
    std::thread([i] {
      std::mt19937 random(seed() + static_cast<unsigned>(i));
      ++running;
      for (;;) {
        const bool write = random() % 4 == 0;
        insist((write ? pthread_rwlock_wrlock(&guarded.lock)
                      : pthread_rwlock_rdlock(&guarded.lock)) == 0,
               "a thread's lock");
        if (write)
          guarded.write_inside();
        else
          guarded.read_inside();
        insist(pthread_rwlock_unlock(&guarded.lock) == 0, "a thread's unlock");
      }
    }).detach();
  while (running < 3)
    sched_yield();
  for (int i = 0; i < 200; ++i) {
    insist(pthread_rwlock_rdlock(&guarded.lock) == 0, "main's lock");
    insist(pthread_rwlock_unlock(&guarded.lock) == 0, "main's unlock");
  }
  return guarded.violations == 0 ? 0 : 4;
}

// main returns while it holds locks and threads wait for them.
int scenario_exit_holding() {
  static L held = PTHREAD_RWLOCK_INITIALIZER;
  if (pthread_rwlock_wrlock(&held) != 0) return 1;
  static std::atomic<int> running{0};
  for (int i = 0; i < 2; ++i)
    std::thread([i] {
      ++running;
      if (i == 0)
        pthread_rwlock_rdlock(&held);
      else
        pthread_rwlock_wrlock(&held);
      insist(false, "a waiter was admitted");
    }).detach();
  while (running < 2)
    sched_yield();
  usleep(5'000);
  return 0;
}

// The main thread ends by pthread_exit, the rest of the program goes on.
int scenario_main_thread_leaves() {
  static L lock = PTHREAD_RWLOCK_INITIALIZER;
  if (pthread_rwlock_rdlock(&lock) != 0) return 1;
  static const pthread_t main_thread = pthread_self();
  std::thread([] {
    pthread_join(main_thread, nullptr);
    insist(pthread_rwlock_trywrlock(&lock) == EBUSY, "main's hold stays");
    insist(pthread_rwlock_unlock(&lock) == 0, "its release by another thread");
    insist(pthread_rwlock_wrlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0,
           "write after it");
    exit(0);
  }).detach();
  pthread_exit(nullptr);
}

// ---- first use beside the loader: a thread takes its first locks while another sits in a
// constructor run by dlopen and waits for it. A lock call that asks the loader for anything hangs
// here.

std::atomic<bool> loading{false}, locked{false};

int scenario_dlopen() {
  conformance_hook_wanted = true;
  std::thread worker([] {
    loading.wait(false);
    static L lock = PTHREAD_RWLOCK_INITIALIZER, made;
    const timespec far = after(CLOCK_REALTIME, 600'000 * kMillisecond),
                   far_mono = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
    pthread_rwlockattr_t shared;
    pthread_rwlockattr_init(&shared);
    pthread_rwlockattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    int bad = 0;
    const auto unlock = [&](L* l) { bad += pthread_rwlock_unlock(l) != 0; };
    bad += pthread_rwlock_init(&made, &shared) != 0;  // the calls that end in glibc, too
    for (L* l : {&lock, &made}) {
      bad += pthread_rwlock_rdlock(l) != 0, unlock(l);
      bad += pthread_rwlock_tryrdlock(l) != 0, unlock(l);
      bad += pthread_rwlock_timedrdlock(l, &far) != 0, unlock(l);
      bad += pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &far_mono) != 0, unlock(l);
      bad += pthread_rwlock_wrlock(l) != 0, unlock(l);
      bad += pthread_rwlock_trywrlock(l) != 0, unlock(l);
      bad += pthread_rwlock_timedwrlock(l, &far) != 0, unlock(l);
      bad += pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &far_mono) != 0, unlock(l);
      bad += pthread_rwlock_destroy(l) != 0;
    }
    insist(bad == 0, "a call failed beside dlopen");
    locked = true;
    locked.notify_all();
  });
  void* handle = dlopen(LOCKSWAP_TEST_SLOW_LIBRARY, RTLD_NOW);
  if (handle == nullptr) fprintf(stderr, "%s\n", dlerror());
  worker.join();
  return handle != nullptr ? 0 : 1;
}

// A library with locks in its data comes and goes at the same address.
int scenario_dlclose() {
  for (int i = 0; i < 30; ++i) {
    void* handle = dlopen(LOCKSWAP_TEST_SLOW_LIBRARY, RTLD_NOW);
    if (handle == nullptr) return 1;
    auto* lock = static_cast<L*>(dlsym(handle, "lock_in_library"));
    auto* zero = static_cast<L*>(dlsym(handle, "zero_lock_in_library"));
    if (lock == nullptr || zero == nullptr) return 1;
    for (L* l : {lock, zero}) {
      warm_up_readers(l);
      expect_works(l);
    }
    dlclose(handle);
  }
  return testing::Test::HasFailure() ? 1 : 0;
}

int scenario_shared() {
  void* memory = mmap(nullptr, sizeof(Guarded), PROT_READ | PROT_WRITE, MAP_SHARED, kSharedFd, 0);
  if (memory == MAP_FAILED) return 1;
  return hammer_shared(static_cast<Guarded*>(memory), scaled_time(300));
}

int spawn_self(const char* scenario, char** environment, int fd) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (fd >= 0) posix_spawn_file_actions_adddup2(&actions, fd, kSharedFd);
  std::vector<std::string> command = self_command({"--lifecycle", scenario});
  pid_t pid;
  fflush(nullptr);
  int status = -1;
  if (posix_spawnp(&pid, command[0].c_str(), &actions, nullptr, pointers_to(command).data(),
                   environment) == 0)
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

}  // namespace

int preinit_call_count() { return preinit_calls; }
int preinit_failure_count() { return preinit_failures; }
int constructor_failure_count() { return constructor_failures; }
L* preinit_read_held() { return &preinit_lock; }
L* preinit_write_held() { return &preinit_written; }
L* constructor_read_held() { return &constructor_lock; }

int run_lifecycle(const char* scenario) {
  const std::string name = scenario;
  if (name == "exit") return scenario_exit(false);
  if (name == "return") return scenario_exit(true);
  if (name == "exit-amid-threads") return scenario_exit_amid_threads();
  if (name == "exit-holding") return scenario_exit_holding();
  if (name == "main-thread-leaves") return scenario_main_thread_leaves();
  if (name == "dlopen") return scenario_dlopen();
  if (name == "dlclose") return scenario_dlclose();
  if (name == "shared") return scenario_shared();
  fprintf(stderr, "unknown scenario %s\n", scenario);
  return 2;
}

int run_self(const char* scenario) { return spawn_self(scenario, environ, -1); }

int run_self_without_preload(const char* scenario, int fd) {
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e)
    if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "LOCKSWAP_RWLOCK=", 16) != 0 &&
        strncmp(*e, "LOCKSWAP_WAIT=", 14) != 0)
      environment.push_back(*e);
  environment.push_back(nullptr);
  return spawn_self(scenario, environment.data(), fd);
}

int hammer_shared(Guarded* guarded, int ms) {
  std::mt19937 random(seed() + static_cast<unsigned>(getpid()));
  const std::int64_t end = milliseconds() + ms;
  int failures = 0;
  do {
    const bool write = random() % 4 == 0;
    const timespec soon = after(CLOCK_MONOTONIC, 100 * kMicrosecond);
    int rc = 0;
    switch (random() % 3) {
      case 0:
        rc = write ? pthread_rwlock_wrlock(&guarded->lock) : pthread_rwlock_rdlock(&guarded->lock);
        break;
      case 1:
        rc = write ? pthread_rwlock_trywrlock(&guarded->lock)
                   : pthread_rwlock_tryrdlock(&guarded->lock);
        break;
      default:
        rc = write ? pthread_rwlock_clockwrlock(&guarded->lock, CLOCK_MONOTONIC, &soon)
                   : pthread_rwlock_clockrdlock(&guarded->lock, CLOCK_MONOTONIC, &soon);
    }
    if (rc == EBUSY || rc == ETIMEDOUT) continue;
    failures += rc != 0;
    if (write)
      guarded->write_inside();
    else
      guarded->read_inside();
    failures += pthread_rwlock_unlock(&guarded->lock) != 0;
  } while (milliseconds() < end);
  return failures == 0 ? 0 : 1;
}

}  // namespace conformance

// What the loaded library's constructor looks for (slow_library.cpp): scenario_dlopen wants to be
// called.
extern "C" {
bool conformance_hook_wanted = false;

void conformance_in_constructor() {
  using namespace conformance;
  loading = true;
  loading.notify_all();
  locked.wait(false);
}
}
