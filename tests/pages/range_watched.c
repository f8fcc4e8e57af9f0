/* What ThreadSanitizer learns of ranges (the end of lockswap/range_lock.h). Two threads change a
 * number under a range, in the way that the argument names; under "unlocked" one of them forgets
 * the range. The second thread comes when the first one is through, by a word that ThreadSanitizer
 * does not see, so the range alone orders them. */
#include <errno.h>
#include <lockswap/range_lock.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static lockswap_range_lock lock;
static const char* how;
static int number;
static volatile int wrote, seen;

static int is(const char* name) { return strcmp(how, name) == 0; }
static void must(int error) {
  if (error != 0) fprintf(stderr, "%s: error %d\n", how, error);
}
__attribute__((no_sanitize_thread)) static void say(void) { wrote = 1; }
__attribute__((no_sanitize_thread)) static int is_said(void) { return wrote; }
__attribute__((no_sanitize_thread)) static void see(void) { seen = 1; }
__attribute__((no_sanitize_thread)) static int has_seen(void) { return seen; }

static void* first(void* unused) {
  lockswap_range all;
  must(lockswap_range_acquire_full(&lock, &all, LOCKSWAP_RANGE_EXCLUSIVE));
  number = 1;
  if (is("downgraded")) {
    must(lockswap_range_downgrade(&all));
    say();
    while (!has_seen()) {
      const struct timespec a_moment = {0, 100000};
      nanosleep(&a_moment, NULL);
    }
  }
  must(lockswap_range_release(&all));
  say();
  return unused;
}

static void* second(void* unused) {
  lockswap_range part;
  while (!is_said()) {
    const struct timespec a_moment = {0, 100000};
    nanosleep(&a_moment, NULL);
  }
  if (is("unlocked")) {
    ++number;
    return unused;
  }
  const struct timespec then = {time(NULL) + 60, 0};
  if (is("timed")) {
    must(lockswap_range_timed_acquire(&lock, &part, 3, 4, LOCKSWAP_RANGE_EXCLUSIVE, &then));
  } else {
    must(lockswap_range_acquire(&lock, &part, 3, 4, LOCKSWAP_RANGE_SHARED));
  }
  if (is("upgraded")) must(lockswap_range_try_upgrade(&part));
  if (is("shared") || is("downgraded")) {
    if (number != 1) fprintf(stderr, "%s: %d\n", how, number);
    see();
  } else {
    ++number;
  }
  must(lockswap_range_release(&part));
  return unused;
}

int main(int argc, char** argv) {
  lockswap_range_lock_attr attr;
  pthread_t threads[2];
  if (argc != 2) return 2;
  how = argv[1];
  must(lockswap_range_lock_attr_init(&attr));
  must(
      lockswap_range_lock_attr_set_implementation(&attr, is("upgraded") ? "kernel-rw" : "list-rw"));
  must(lockswap_range_lock_init(&lock, &attr));
  if (pthread_create(&threads[0], NULL, first, NULL) != 0) return 2;
  if (pthread_create(&threads[1], NULL, second, NULL) != 0) return 2;
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  return 0;
}
