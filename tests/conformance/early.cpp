// A library the tests link to. ld.so runs its constructor before that of a preloaded library and
// its destructor after it, so its locks see lockswap before and after everything.
#include <atomic>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "lifecycle.h"

EarlyReport early_report;

namespace {

std::atomic<bool> stop{false};
pthread_t hammer_thread;
pthread_rwlock_t hammered = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t in_destructor = PTHREAD_RWLOCK_INITIALIZER;

int check(int expected, int got) {
  ++early_report.constructor_calls;
  if (expected != got) ++early_report.constructor_failures;
  return got;
}

void* hammer(void*) {
  do {
    if (pthread_rwlock_rdlock(&hammered) != 0) ++early_report.hammer_failures;
    if (pthread_rwlock_rdlock(&hammered) != 0) ++early_report.hammer_failures;
    if (pthread_rwlock_unlock(&hammered) != 0) ++early_report.hammer_failures;
    if (pthread_rwlock_unlock(&hammered) != 0) ++early_report.hammer_failures;
    if (pthread_rwlock_wrlock(&hammered) != 0) ++early_report.hammer_failures;
    if (pthread_rwlock_tryrdlock(&hammered) != EBUSY) ++early_report.hammer_failures;
    if (pthread_rwlock_unlock(&hammered) != 0) ++early_report.hammer_failures;
    ++early_report.hammer_rounds;
  } while (!stop);
  return nullptr;
}

[[gnu::constructor]] void before_main() {
  pthread_create(&hammer_thread, nullptr, hammer, nullptr);
  pthread_rwlock_t local = PTHREAD_RWLOCK_INITIALIZER;
  for (int i = 0; i < 200; ++i) {
    check(0, pthread_rwlock_rdlock(&local));
    check(0, pthread_rwlock_rdlock(&local));
    check(EBUSY, pthread_rwlock_trywrlock(&local));
    check(0, pthread_rwlock_unlock(&local));
    check(0, pthread_rwlock_unlock(&local));
    check(0, pthread_rwlock_wrlock(&local));
    check(EDEADLK, pthread_rwlock_wrlock(&local));
    check(0, pthread_rwlock_unlock(&local));
  }
  check(0, pthread_rwlock_destroy(&local));
  check(0, pthread_rwlock_init(&early_report.read_held, nullptr));
  check(0, pthread_rwlock_rdlock(&early_report.read_held));
  check(0, pthread_rwlock_wrlock(&early_report.write_held));  // zeroed memory
}

[[gnu::destructor]] void after_main() {
  for (int i = 0; i < 100; ++i) {
    if (pthread_rwlock_rdlock(&in_destructor) != 0 || pthread_rwlock_unlock(&in_destructor) != 0 ||
        pthread_rwlock_wrlock(&in_destructor) != 0 ||
        pthread_rwlock_tryrdlock(&in_destructor) != EBUSY ||
        pthread_rwlock_unlock(&in_destructor) != 0) {
      static const char text[] = "a lock call failed in a destructor\n";
      if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(3);
      _exit(3);
    }
  }
}

}  // namespace

void early_hammer_stop() {
  if (stop.exchange(true)) return;
  pthread_join(hammer_thread, nullptr);
}
