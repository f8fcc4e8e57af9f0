/* Locks of several places under a policy, see policy.py.

     policed who LIBRARY  which runner of the policy each lock has, "NAME RUNNER" a line; 0: glibc
     policed race         threads that use new locks first from two functions exclude each other
     policed kinds        what glibc keeps, and what the kinds of mutexes promise
     policed conds        condition variables with mutexes of either kind
     policed fork         a child goes on with its parent's locks
     policed again        destroyed, initialised again, copied
     policed parts        which runner a lock has that a split-off part of a function uses first,
                          and one that the last instruction of a function does
     policed child        a child that uses a lock first, and ends as programs do

   By the object's bytes: docs/interposition.md. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#define NEED(what)                              \
  do {                                          \
    if (!(what)) {                              \
      printf("line %d: %s\n", __LINE__, #what); \
      fflush(stdout);                           \
      _exit(1);                                 \
    }                                           \
  } while (0)

/* What keeps a call from being a jump, and functions from being folded into one. */
#define BEHIND(name) __asm__ volatile("# " name ::: "memory")

extern pthread_rwlock_t* file_make(void);
extern pthread_rwlock_t* file_ready(void);
extern pthread_mutex_t* file_ready_mutex(void);

static int runner(const pthread_rwlock_t* l) {
  uint64_t word;
  memcpy(&word, (const char*)l + 32, sizeof word);
  return word == 0 ? -1 : (int)(word >> 40 & 15);
}
static int mutex_runner(const pthread_mutex_t* m) {
  uint32_t word;
  memcpy(&word, (const char*)m + 36, sizeof word);
  return word >> 16 != 0x4c53 ? -1 : (int)(word & 15);
}

static pthread_rwlock_t ready = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t named = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t ready_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t named_mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static pthread_rwlock_t* make_here(void) {
  pthread_rwlock_t* l = malloc(sizeof *l);
  NEED(l != NULL && pthread_rwlock_init(l, NULL) == 0);
  return l;
}
__attribute__((noinline)) static int write_here(pthread_rwlock_t* l) {
  const int error = pthread_rwlock_wrlock(l);
  BEHIND("write_here");
  return error;
}
__attribute__((noinline)) static int write_there(pthread_rwlock_t* l) {
  const int error = pthread_rwlock_wrlock(l);
  BEHIND("write_there");
  return error;
}
__attribute__((noinline)) static int lock_here(pthread_mutex_t* m) {
  const int error = pthread_mutex_lock(m);
  BEHIND("lock_here");
  return error;
}
__attribute__((noinline)) static int lock_there(pthread_mutex_t* m) {
  const int error = pthread_mutex_lock(m);
  BEHIND("lock_there");
  return error;
}

static void use(pthread_rwlock_t* l) {
  NEED(pthread_rwlock_tryrdlock(l) == 0 && pthread_rwlock_trywrlock(l) == EBUSY &&
       pthread_rwlock_unlock(l) == 0);
  NEED(write_here(l) == 0 && pthread_rwlock_tryrdlock(l) == EBUSY && pthread_rwlock_unlock(l) == 0);
}
static void use_mutex(pthread_mutex_t* m) {
  NEED(lock_here(m) == 0 && pthread_mutex_trylock(m) == EBUSY && pthread_mutex_unlock(m) == 0);
}

static void who(const char* library) {
  pthread_rwlock_t *made = make_here(), *linked = file_make(), *linked_ready = file_ready();
  use(made), use(&ready), use(&named), use(linked), use(linked_ready);
  use_mutex(&ready_mutex), use_mutex(&named_mutex), use_mutex(file_ready_mutex());
  printf("made %d\nready %d\nnamed %d\n", runner(made), runner(&ready), runner(&named));
  printf("linked %d\nlinked_ready %d\n", runner(linked), runner(linked_ready));
  printf("ready_mutex %d\nnamed_mutex %d\nlinked_mutex %d\n", mutex_runner(&ready_mutex),
         mutex_runner(&named_mutex), mutex_runner(file_ready_mutex()));
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  NEED(opened != NULL);
  pthread_rwlock_t* (*make)(void) = (pthread_rwlock_t * (*)(void)) dlsym(opened, "file_make");
  NEED(make != NULL);
  pthread_rwlock_t* loaded = make();
  use(loaded);
  printf("loaded %d\n", runner(loaded));
  NEED(pthread_rwlock_destroy(made) == 0 && pthread_rwlock_destroy(linked) == 0 &&
       pthread_rwlock_destroy(loaded) == 0);
  free(made), free(linked), free(loaded);
}

/* --- two threads come first together, from two functions */

enum { kRounds = 3000 };
static pthread_rwlock_t many[kRounds];
static pthread_mutex_t many_mutexes[kRounds];
static long counts[kRounds], mutex_counts[kRounds];
static pthread_barrier_t together;

static void* first(void* here) {
  for (int i = 0; i < kRounds; ++i) {
    if (i % 16 == 0) pthread_barrier_wait(&together);
    NEED((here ? write_here : write_there)(&many[i]) == 0);
    counts[i] = counts[i] + 1;
    NEED(pthread_rwlock_unlock(&many[i]) == 0);
    NEED((here ? lock_here : lock_there)(&many_mutexes[i]) == 0);
    mutex_counts[i] = mutex_counts[i] + 1;
    NEED(pthread_mutex_unlock(&many_mutexes[i]) == 0);
  }
  return NULL;
}
static void race(void) {
  pthread_t other;
  NEED(pthread_barrier_init(&together, NULL, 2) == 0);
  NEED(pthread_create(&other, NULL, first, NULL) == 0);
  first(&counts);
  NEED(pthread_join(other, NULL) == 0);
  int of_glibc = 0, swapped = 0;
  for (int i = 0; i < kRounds; ++i) {
    NEED(counts[i] == 2 && mutex_counts[i] == 2);
    of_glibc += runner(&many[i]) == 0;
    swapped += runner(&many[i]) > 0;
  }
  NEED(of_glibc + swapped == kRounds);
}

/* --- kinds */

static void kinds(void) {
  pthread_rwlockattr_t shared;
  NEED(pthread_rwlockattr_init(&shared) == 0);
  NEED(pthread_rwlockattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) == 0);
  pthread_rwlock_t l;
  NEED(pthread_rwlock_init(&l, &shared) == 0);
  use(&l);
  NEED(runner(&l) == -1 && pthread_rwlock_destroy(&l) == 0);

  const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
  for (int i = 0; i < 3; ++i) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    NEED(pthread_mutexattr_init(&a) == 0 && pthread_mutexattr_settype(&a, types[i]) == 0);
    NEED(pthread_mutex_init(&m, &a) == 0 && pthread_mutex_lock(&m) == 0);
    const int again =
        types[i] == PTHREAD_MUTEX_NORMAL ? pthread_mutex_trylock(&m) : pthread_mutex_lock(&m);
    const int wanted[] = {EBUSY, 0, EDEADLK};
    NEED(again == wanted[i] && (again != 0 || pthread_mutex_unlock(&m) == 0));
    NEED(pthread_mutex_unlock(&m) == 0 && mutex_runner(&m) > 0 && pthread_mutex_destroy(&m) == 0);
    NEED(pthread_mutex_lock(&m) == EINVAL);
  }
  for (int robust = 0; robust < 2; ++robust) {
    pthread_mutexattr_t a;
    pthread_mutex_t m;
    NEED(pthread_mutexattr_init(&a) == 0);
    NEED((robust ? pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST)
                 : pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED)) == 0);
    NEED(pthread_mutex_init(&m, &a) == 0);
    for (int n = 0; n < 3; ++n)
      use_mutex(&m);
    NEED(pthread_mutex_lock(&m) == 0 && mutex_runner(&m) != 1 && pthread_mutex_unlock(&m) == 0);
    NEED(pthread_mutex_destroy(&m) == 0);
  }
}

/* --- condition variables: `here` is swapped, `there` is glibc's */

static pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER, there = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void* play(void* second) {
  for (int i = 0; i < 2000; ++i) {
    pthread_mutex_t* const m = i < 1000 ? &here : &there;
    if (i == 1000) pthread_barrier_wait(&together); /* nobody waits with the first mutex any more */
    NEED((m == &here ? lock_here : lock_there)(m) == 0);
    while (turn != (second != NULL))
      NEED(pthread_cond_wait(&changed, m) == 0);
    turn = second == NULL;
    NEED(pthread_cond_signal(&changed) == 0 && pthread_mutex_unlock(m) == 0);
  }
  return NULL;
}
/* glibc's condition variable would release the mutex by its own code. */
static void wait_for_shared(void) {
  const struct timespec past = {1, 0};
  pthread_condattr_t a;
  pthread_cond_t shared;
  NEED(pthread_condattr_init(&a) == 0);
  NEED(pthread_condattr_setpshared(&a, PTHREAD_PROCESS_SHARED) == 0);
  NEED(pthread_cond_init(&shared, &a) == 0 && lock_here(&here) == 0);
  NEED(pthread_cond_timedwait(&shared, &here, &past) == ETIMEDOUT);
  NEED(pthread_mutex_trylock(&here) == EBUSY && pthread_mutex_unlock(&here) == 0);
  use_mutex(&here);
  NEED(pthread_cond_destroy(&shared) == 0);
}
static void conds(void) {
  pthread_t other;
  NEED(lock_here(&here) == 0 && pthread_mutex_unlock(&here) == 0);
  NEED(lock_there(&there) == 0 && pthread_mutex_unlock(&there) == 0);
  NEED(mutex_runner(&here) > 0 && mutex_runner(&there) == 0);
  NEED(pthread_barrier_init(&together, NULL, 2) == 0);
  NEED(pthread_create(&other, NULL, play, &turn) == 0);
  play(NULL);
  NEED(pthread_join(other, NULL) == 0);
  wait_for_shared();
}

/* --- fork, and the end of a lock */

static void fork_it(void) {
  pthread_rwlock_t* const swapped = make_here();
  NEED(write_here(swapped) == 0 && write_there(&ready) == 0);
  NEED(runner(swapped) > 0 && runner(&ready) == 0);
  const pid_t child = fork();
  if (child == 0) {
    NEED(pthread_rwlock_unlock(swapped) == 0);
    use(swapped);
    NEED(runner(swapped) > 0 && runner(&ready) == 0 && pthread_rwlock_tryrdlock(&ready) == EBUSY);
    pthread_rwlock_t* const made = make_here();
    use(made);
    NEED(runner(made) > 0);
    free(made);
    _exit(0);
  }
  int status = -1;
  NEED(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  NEED(pthread_rwlock_unlock(swapped) == 0 && pthread_rwlock_unlock(&ready) == 0);
  use(swapped), use(&ready);
  free(swapped);
}

static void again(void) {
  pthread_rwlock_t* l = make_here();
  use(l);
  NEED(runner(l) > 0);
  pthread_rwlock_t copy = *l; /* of a free lock */
  use(&copy);
  NEED(runner(&copy) == runner(l) && pthread_rwlock_destroy(l) == 0);
  NEED(pthread_rwlock_init(l, NULL) == 0); /* from here: glibc's */
  use(l);
  NEED(runner(l) == 0);
  *l = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
  NEED(runner(l) == -1 && pthread_rwlock_destroy(l) == 0 && runner(l) == -1);
  NEED(write_there(l) == 0 && runner(l) == 0 && pthread_rwlock_unlock(l) == 0);
  free(l);
}

/* --- where a function ends */

/* As the compiler calls what it splits off. */
__attribute__((noinline, used)) static int part(pthread_rwlock_t* l) __asm__("whole.part.0");
static int part(pthread_rwlock_t* l) {
  const int error = pthread_rwlock_wrlock(l);
  BEHIND("part");
  return error;
}
#if defined(__x86_64__)
/* The call returns to the first instruction of another function, as one does that never
   returns. */
int call_last(pthread_rwlock_t*);
__asm__(
    ".text\n"
    ".globl call_last\n"
    ".type call_last, @function\n"
    "call_last: endbr64\n"
    " subq $8, %rsp\n"
    " call pthread_rwlock_wrlock@PLT\n"
    ".size call_last, . - call_last\n"
    ".type comes_next, @function\n"
    "comes_next: addq $8, %rsp\n"
    " ret\n"
    ".size comes_next, . - comes_next\n");
#else
static int call_last(pthread_rwlock_t* l) { return write_there(l); }
#endif
static void parts(void) {
  static pthread_rwlock_t split = PTHREAD_RWLOCK_INITIALIZER, last = PTHREAD_RWLOCK_INITIALIZER;
  NEED(part(&split) == 0 && pthread_rwlock_unlock(&split) == 0);
  NEED(call_last(&last) == 0 && pthread_rwlock_unlock(&last) == 0);
  printf("split %d\nlast %d\n", runner(&split), runner(&last));
}

static void child_it(void) {
  pthread_rwlock_t *one = make_here(), *other = make_here();
  use(one), use(other);
  const pid_t child = fork();
  if (child == 0) {
    pthread_rwlock_t* const made = make_here();
    use(made);
    exit(0);
  }
  int status = -1;
  NEED(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "who") == 0)
    who(argv[2]);
  else if (strcmp(what, "race") == 0)
    race();
  else if (strcmp(what, "kinds") == 0)
    kinds();
  else if (strcmp(what, "conds") == 0)
    conds();
  else if (strcmp(what, "fork") == 0)
    fork_it();
  else if (strcmp(what, "again") == 0)
    again();
  else if (strcmp(what, "parts") == 0)
    parts();
  else if (strcmp(what, "child") == 0)
    child_it();
  else
    return 2;
  puts("done");
  return 0;
}
