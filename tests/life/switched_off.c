// A program whose kill switch is turned while its threads take locks, and make new ones. It checks
// that each lock excludes, whose it is by its bytes, and that none changes hands.
//
// It talks with switched_off.py: it prints "ready", reads a line when the switch is turned, and
// prints how many locks began as ours and as the system's while the threads ran, then "done".
// With "policy" as its argument a mutex has its decision elsewhere, so only rwlocks are looked at.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#define NEED(what)                                           \
  do {                                                       \
    if (!(what)) {                                           \
      fprintf(stderr, "line %d: not %s\n", __LINE__, #what); \
      _exit(1);                                              \
    }                                                        \
  } while (0)

enum { THREADS = 4, SHARED = 6, OLD = 8, BATCH = 8, NEW = 1 << 14, PAIRS = 4 };

// src/posix/adoption.h: where the word is, and what it has for the system's.
static const unsigned long systems_word = 1u << 9;
static int has_policy;

struct place {
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  pthread_cond_t cond;
  long by_mutex, by_rwlock;  // what they protect
};
static struct place old_places[OLD];  // those behind the first SHARED are the main thread's
static struct place new_places[NEW];  // zeroed: begins with the first call
static atomic_int begun;              // how many of these have begun
static atomic_int over, ends;         // the main thread has seen enough; all threads end here
static pthread_barrier_t first;       // all threads come to a new place at once

static int mutex_is_systems(const struct place* p) {
  unsigned long word;
  memcpy(&word, (const char*)&p->mutex + 24, sizeof word);
  return word == systems_word;
}
static int rwlock_is_systems(const struct place* p) {
  unsigned long word;
  memcpy(&word, (const char*)&p->rwlock + 32, sizeof word);
  return word == systems_word;
}

static void use(struct place* p) {
  NEED(pthread_mutex_lock(&p->mutex) == 0);
  ++p->by_mutex;
  NEED(pthread_mutex_unlock(&p->mutex) == 0);
  NEED(pthread_rwlock_wrlock(&p->rwlock) == 0);
  ++p->by_rwlock;
  NEED(pthread_rwlock_unlock(&p->rwlock) == 0);
  NEED(pthread_rwlock_rdlock(&p->rwlock) == 0);
  NEED(p->by_rwlock > 0);
  NEED(pthread_rwlock_unlock(&p->rwlock) == 0);
}

static void* run(void* unused) {
  for (int at = 0; at < NEW;) {
    if (pthread_barrier_wait(&first) == PTHREAD_BARRIER_SERIAL_THREAD) {
      if (atomic_load(&over)) atomic_store(&ends, 1);
      usleep(100);
    }
    pthread_barrier_wait(&first);
    if (atomic_load(&ends)) break;
    for (const int end = at + BATCH; at < end; ++at) {
      for (int i = 0; i < PAIRS; ++i)
        use(&new_places[at]);
      use(&old_places[at % SHARED]);
    }
    atomic_store(&begun, at);
  }
  return unused;
}

// All forms on one object of each kind.
static void use_all_forms(struct place* p) {
  const struct timespec past = {1, 0};
  NEED(pthread_mutex_trylock(&p->mutex) == 0);
  NEED(pthread_mutex_trylock(&p->mutex) == 16);
  NEED(pthread_mutex_timedlock(&p->mutex, &past) == 110);
  NEED(pthread_cond_timedwait(&p->cond, &p->mutex, &past) == 110);
  NEED(pthread_mutex_unlock(&p->mutex) == 0);
  NEED(pthread_rwlock_tryrdlock(&p->rwlock) == 0);
  NEED(pthread_rwlock_rdlock(&p->rwlock) == 0);
  NEED(pthread_rwlock_trywrlock(&p->rwlock) == 16);
  NEED(pthread_rwlock_unlock(&p->rwlock) == 0);
  NEED(pthread_rwlock_unlock(&p->rwlock) == 0);
  NEED(pthread_rwlock_timedwrlock(&p->rwlock, &past) == 0);
  NEED(pthread_rwlock_unlock(&p->rwlock) == 0);
}

// A wait that another thread ends.
static int is_signalled;
static void* signal_it(void* given) {
  struct place* p = given;
  pthread_mutex_lock(&p->mutex);
  is_signalled = 1;
  pthread_cond_signal(&p->cond);
  pthread_mutex_unlock(&p->mutex);
  return NULL;
}
static void wait_for_it(struct place* p) {
  pthread_t thread;
  is_signalled = 0;
  NEED(pthread_mutex_lock(&p->mutex) == 0);
  NEED(pthread_create(&thread, NULL, signal_it, p) == 0);
  while (!is_signalled)
    NEED(pthread_cond_wait(&p->cond, &p->mutex) == 0);
  NEED(pthread_mutex_unlock(&p->mutex) == 0);
  pthread_join(thread, NULL);
}

static void look_after(int swaps_mutexes, int swaps_rwlocks) {
  static struct place ready, recursive, made;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  NEED(pthread_mutex_init(&recursive.mutex, &attributes) == 0);
  NEED(pthread_mutex_init(&made.mutex, NULL) == 0);
  NEED(pthread_rwlock_init(&made.rwlock, NULL) == 0);
  for (int i = 0; i < 3; ++i)
    NEED(pthread_mutex_lock(&recursive.mutex) == 0);
  for (int i = 0; i < 3; ++i)
    NEED(pthread_mutex_unlock(&recursive.mutex) == 0);
  struct place* const all[] = {&ready, &made, &old_places[SHARED]};
  for (int i = 0; i < 3; ++i) {
    use_all_forms(all[i]);
    wait_for_it(all[i]);
  }
  if (!has_policy) {
    NEED(mutex_is_systems(&ready) == swaps_mutexes && mutex_is_systems(&made) == swaps_mutexes);
    NEED(mutex_is_systems(&recursive) == swaps_mutexes);
  }
  NEED(rwlock_is_systems(&ready) == swaps_rwlocks && rwlock_is_systems(&made) == swaps_rwlocks);
  for (int i = 0; i < OLD; ++i)
    NEED(!mutex_is_systems(&old_places[i]) && !rwlock_is_systems(&old_places[i]));
  // Destroyed, and made anew.
  NEED(pthread_mutex_destroy(&made.mutex) == 0 && pthread_rwlock_destroy(&made.rwlock) == 0);
  NEED(pthread_mutex_lock(&made.mutex) == 22);
  NEED(pthread_mutex_destroy(&old_places[SHARED + 1].mutex) == 0);
  NEED(pthread_rwlock_destroy(&old_places[SHARED + 1].rwlock) == 0);
  NEED(pthread_mutex_init(&old_places[SHARED + 1].mutex, NULL) == 0);
  NEED(pthread_rwlock_init(&old_places[SHARED + 1].rwlock, NULL) == 0);
  use_all_forms(&old_places[SHARED + 1]);
  NEED(rwlock_is_systems(&old_places[SHARED + 1]) == swaps_rwlocks);
}

int main(int argc, char** argv) {
  char line[16];
  const int swaps_mutexes = argc > 1 && atoi(argv[1]), swaps_rwlocks = argc > 2 && atoi(argv[2]);
  has_policy = argc > 3;
  for (int i = 0; i < OLD; ++i)
    use(&old_places[i]);
  pthread_barrier_init(&first, NULL, THREADS);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    NEED(pthread_create(&threads[i], NULL, run, NULL) == 0);
  while (atomic_load(&begun) < 4 * BATCH)
    usleep(5000);
  puts("ready");
  fflush(stdout);
  NEED(fgets(line, sizeof line, stdin) != NULL);
  look_after(swaps_mutexes, swaps_rwlocks);
  const pid_t child = fork();
  NEED(child >= 0);
  if (child == 0) {
    static struct place of_child;
    use_all_forms(&of_child);
    use_all_forms(&old_places[SHARED]);
    use_all_forms(&old_places[SHARED + 1]);
    NEED(rwlock_is_systems(&of_child) == swaps_rwlocks);
    _exit(0);
  }
  int status;
  NEED(waitpid(child, &status, 0) == child && status == 0);
  atomic_store(&over, 1);
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  int ours = 0, systems = 0;
  for (int i = 0; i < atomic_load(&begun); ++i) {
    NEED(new_places[i].by_mutex == THREADS * PAIRS && new_places[i].by_rwlock == THREADS * PAIRS);
    rwlock_is_systems(&new_places[i]) ? ++systems : ++ours;
  }
  printf("%d %d\ndone\n", ours, systems);
  return 0;
}
