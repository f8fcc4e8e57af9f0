/* What a program sees of the keys of thread-specific data: each number is tried before it has made
 * any, its own are numbered, hold their values, and give them to its destructors, however threads
 * end. All of it as without lockswap.
 *
 *     keys sweep     prints what the functions return for each number, and the program's numbers
 *     keys stray     deletes a key that it never made, then makes one
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { kLocks = 12, kMost = PTHREAD_KEYS_MAX, kMine = 100 };
static pthread_rwlock_t locks[kLocks];
static pthread_mutex_t mutexes[kLocks];
static pthread_key_t mine[kMine];
static atomic_long destroyed, wrong;

static void use_locks(void) {
  int error = 0;
  for (int i = 0; i < kLocks; ++i)
    error |= pthread_mutex_lock(&mutexes[i]) | pthread_rwlock_rdlock(&locks[i]);
  for (int i = 0; i < kLocks; ++i)
    error |= pthread_mutex_unlock(&mutexes[i]) | pthread_rwlock_unlock(&locks[i]);
  error |= pthread_rwlock_wrlock(&locks[0]) | pthread_rwlock_unlock(&locks[0]);
  if (error != 0) abort();
}

/* What each number from `from` on gives, equal ones together. */
static void sweep(const char* when) {
  printf("%s:", when);
  int from = 0;
  char before[64] = "";
  for (int k = 0; k <= kMost; ++k) {
    char now[64] = "end";
    if (k < kMost) {
      const int set = pthread_setspecific((pthread_key_t)k, (void*)1);
      const int is_null = pthread_getspecific((pthread_key_t)k) == NULL;
      const int deleted = pthread_key_delete((pthread_key_t)k);
      snprintf(now, sizeof now, "set %d, %s, delete %d", set, is_null ? "null" : "a value",
               deleted);
    }
    if (k != 0 && strcmp(now, before) != 0) {
      printf(" %d to %d: %s;", from, k - 1, before);
      from = k;
    }
    strcpy(before, now);
  }
  puts("");
}

static void* value_of(int i) { return &mine[i]; }
static void at_end(void* value) {
  const pthread_key_t* key = value;
  if (key < mine || key >= mine + kMine) ++wrong;
  ++destroyed;
  use_locks();
}
static void set_values(void) {
  for (int i = 0; i < kMine; ++i)
    if (pthread_setspecific(mine[i], value_of(i)) != 0) ++wrong;
  use_locks();
  for (int i = 0; i < kMine; ++i)
    if (pthread_getspecific(mine[i]) != value_of(i)) ++wrong;
}

static void* locks_alone(void* unused) {
  use_locks();
  return unused;
}
static void* returns(void* unused) {
  set_values();
  return unused;
}
static void* exits(void* unused) {
  set_values();
  pthread_exit(unused);
}
static void* is_cancelled(void* unused) {
  set_values();
  for (;;)
    pause();
  return unused;
}
static int returns_in_c11(void* unused) {
  set_values();
  return unused != NULL ? 3 : 4;
}
static int exits_in_c11(void* unused) {
  set_values();
  thrd_exit(unused != NULL ? 3 : 4);
}
static void ended(const char* how, int is_right) {
  printf("%s: %s, %ld values destroyed, %ld wrong\n", how, is_right ? "right" : "WRONG",
         (long)destroyed, (long)wrong);
  destroyed = 0;
}

static void run(const char* how, void* (*body)(void*)) {
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, body, &mine[0]) != 0) abort();
  if (body == is_cancelled) pthread_cancel(thread);
  if (pthread_join(thread, &result) != 0) abort();
  ended(how, result == (body == is_cancelled ? PTHREAD_CANCELED : &mine[0]));
}
static void run_in_c11(const char* how, int (*body)(void*)) {
  thrd_t thread;
  int result = 0;
  if (thrd_create(&thread, body, &mine[0]) != thrd_success) abort();
  if (thrd_join(thread, &result) != thrd_success) abort();
  ended(how, result == 3);
}

/* libc makes the thread. */
static atomic_int alarms;
static void on_alarm(union sigval unused) {
  (void)unused;
  set_values();
  ++alarms;
}
static void run_in_timer(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_alarm};
  const struct itimerspec soon = {.it_value = {0, 1000}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) abort();
  for (int i = 1; i <= 3; ++i) {
    if (timer_settime(timer, 0, &soon, NULL) != 0) abort();
    while (destroyed < i * kMine)
      usleep(10000);
  }
  ended("a timer's thread", alarms == 3);
}

static void use_keys(void) {
  printf("numbers:");
  for (int i = 0; i < kMine; ++i) {
    if (pthread_key_create(&mine[i], at_end) != 0) abort();
    printf(" %u", mine[i]);
  }
  puts("");
  set_values();
  run("returns", returns);
  run("exits", exits);
  run("is cancelled", is_cancelled);
  run_in_c11("C11, returns", returns_in_c11);
  run_in_c11("C11, exits", exits_in_c11);
  run_in_timer();
  sweep("behind them");
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "stray") == 0) {
    pthread_key_t key;
    int value;
    printf("delete %d", pthread_key_delete(0));
    printf(", create %d", pthread_key_create(&key, free));
    printf(", number %u", key);
    pthread_setspecific(key, &value);
    use_locks();
    printf(", %s\n", pthread_getspecific(key) == &value ? "its value" : "ANOTHER VALUE");
    pthread_setspecific(key, NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, locks_alone, NULL) != 0) abort();
    pthread_join(thread, NULL);
    return 0;
  }
  if (argc != 2 || strcmp(argv[1], "sweep") != 0) return 2;
  sweep("at first");
  use_locks();
  sweep("behind locks");
  use_keys();
  return 0;
}
