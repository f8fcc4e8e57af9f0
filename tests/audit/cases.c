// Programs for test_audit.py, each of which does one thing that the audit must see, and no other.
//   audit_cases NAME        prints "done"
// Nothing here depends on time: the program watches a thread that is to block until it does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "../asleep.h"
#include "../expect.h"

#define UNTIL(condition) \
  do {                   \
    while (!(condition)) \
      sched_yield();     \
  } while (0)

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t other = PTHREAD_RWLOCK_INITIALIZER;
static volatile int turn;  // which thread goes on

// glibc's bit for a writer that is next, while readers are still in.
static int writer_waits(void) {
  return (__atomic_load_n(&lock.__data.__readers, __ATOMIC_ACQUIRE) & 2) != 0;
}

static void* read_lock(void* l) {
  EXPECT(0, pthread_rwlock_rdlock(l));
  return NULL;
}
static void* write_lock(void* l) {
  EXPECT(0, pthread_rwlock_wrlock(l));
  return NULL;
}
static void* read_once(void* l) {
  EXPECT(0, pthread_rwlock_rdlock(l));
  EXPECT(0, pthread_rwlock_unlock(l));
  return NULL;
}
static void* write_once(void* l) {
  EXPECT(0, pthread_rwlock_wrlock(l));
  EXPECT(0, pthread_rwlock_unlock(l));
  return NULL;
}
static pthread_t start(void* (*work)(void*), void* with) {
  pthread_t thread;
  EXPECT(0, pthread_create(&thread, NULL, work, with));
  return thread;
}
static void run(void* (*work)(void*), void* with) { pthread_join(start(work, with), NULL); }

static void clean(void) {
  for (int i = 0; i < 10; ++i) {
    EXPECT(0, pthread_rwlock_rdlock(&lock));
    EXPECT(0, pthread_rwlock_unlock(&lock));
  }
  run(write_once, &lock);
  pthread_rwlock_t* own = malloc(sizeof *own);
  for (int i = 0; i < 3; ++i) {
    memset(own, 0x5a, sizeof *own);
    EXPECT(0, pthread_rwlock_init(own, NULL));
    EXPECT(0, pthread_rwlock_wrlock(own));
    EXPECT(0, pthread_rwlock_unlock(own));
    EXPECT(0, pthread_rwlock_destroy(own));
  }
  free(own);
}

static void no_locks(void) {}

static void recursive(void) {
  read_lock(&lock);
  read_lock(&lock);
  EXPECT(0, pthread_rwlock_tryrdlock(&lock));
  for (int i = 0; i < 3; ++i)
    EXPECT(0, pthread_rwlock_unlock(&lock));
}

static void recursive_waiting(void) {
  read_lock(&lock);
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  read_lock(&lock);
  EXPECT(0, pthread_rwlock_unlock(&lock));
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(writer, NULL);
}

static void init_writers_first(void) {
  pthread_rwlockattr_t a;
  pthread_rwlockattr_init(&a);
  pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  EXPECT(0, pthread_rwlock_init(&lock, &a));
}

static void shut_out(void) {
  const struct timespec past = {1, 0};
  init_writers_first();
  read_lock(&lock);
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  EXPECT(ETIMEDOUT, pthread_rwlock_timedrdlock(&lock, &past));
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(writer, NULL);
}

static void* upgrade(void* unused) {
  read_lock(&lock);
  write_lock(&lock);  // never comes back
  return unused;
}
static void self_deadlock(void) {
  start(upgrade, NULL);
  UNTIL(writer_waits());
  puts("done");
  fflush(stdout);
  kill(getpid(), SIGKILL);
}

static void deadlk(void) {
  write_lock(&lock);
  EXPECT(EDEADLK, pthread_rwlock_rdlock(&lock));
  EXPECT(EDEADLK, pthread_rwlock_wrlock(&lock));
  EXPECT(0, pthread_rwlock_unlock(&lock));
}

static void foreign_read(void) {
  run(read_lock, &lock);
  EXPECT(0, pthread_rwlock_unlock(&lock));
  read_lock(&lock);  // nobody's second read
  EXPECT(0, pthread_rwlock_unlock(&lock));
}
static void foreign_write(void) {
  run(write_lock, &lock);
  pthread_rwlock_unlock(&lock);
}
static void unheld(void) { pthread_rwlock_unlock(&lock); }

static void destroy_held(void) {
  read_lock(&lock);
  pthread_rwlock_destroy(&lock);
}
static void destroy_awaited(void) {
  read_lock(&lock);
  start(write_once, &lock);
  UNTIL(writer_waits());
  pthread_rwlock_destroy(&lock);
  puts("done");
  fflush(stdout);
  _exit(0);
}
// The holder goes on with a lock that is gone.
static void* reads_on(void* l) {
  read_lock(l);
  turn = 1;
  UNTIL(turn == 2);
  EXPECT(0, pthread_rwlock_unlock(l));
  return write_once(l);
}
static void destroy_held_by_other(void) {
  pthread_t reader = start(reads_on, &lock);
  UNTIL(turn == 1);
  pthread_rwlock_destroy(&lock);
  turn = 2;
  pthread_join(reader, NULL);
  write_once(&lock);
}
static pthread_mutex_t shaky = PTHREAD_MUTEX_INITIALIZER;
static void* holds_mutex(void* m) {
  EXPECT(0, pthread_mutex_lock(m));
  turn = 1;
  UNTIL(turn == 2);
  EXPECT(0, pthread_mutex_unlock(m));
  return NULL;
}
static void destroy_held_mutex(void) {
  pthread_t holder = start(holds_mutex, &shaky);
  UNTIL(turn == 1);
  EXPECT(EBUSY, pthread_mutex_destroy(&shaky));
  turn = 2;
  pthread_join(holder, NULL);
  EXPECT(0, pthread_mutex_lock(&shaky));
  EXPECT(EBUSY, pthread_mutex_destroy(&shaky));  // its own
  EXPECT(0, pthread_mutex_unlock(&shaky));
}
static void destroy_uninit(void) {
  pthread_mutex_t* m = malloc(sizeof *m);
  pthread_rwlock_t* l = malloc(sizeof *l);
  memset(m, 0x5a, sizeof *m);
  memset(l, 0x5a, sizeof *l);
  pthread_mutex_destroy(m);
  EXPECT(0, pthread_rwlock_destroy(l));
  free(m);
  free(l);
}
static void init_held(void) {
  read_lock(&lock);
  EXPECT(0, pthread_rwlock_init(&lock, NULL));
}
static void reset_held(void) {
  read_lock(&lock);
  memset(&lock, 0, sizeof lock);
  write_once(&lock);
}
static void copied(void) {
  write_once(&lock);
  memcpy(&other, &lock, sizeof lock);
  write_once(&other);
}

static volatile sig_atomic_t handled;
static void on_signal(int number) {
  (void)number;
  // NOLINTNEXTLINE(bugprone-signal-handler): what the audit is to find
  handled = pthread_rwlock_tryrdlock(&other) == 0 && pthread_rwlock_unlock(&other) == 0;
}
static void in_handler(void) {
  signal(SIGUSR1, on_signal);
  write_lock(&lock);
  pthread_t reader = start(read_once, &lock);
  UNTIL(__atomic_load_n(&lock.__data.__readers, __ATOMIC_ACQUIRE) >> 3 != 0);  // waits
  pthread_kill(reader, SIGUSR1);
  UNTIL(handled);
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(reader, NULL);
}

static volatile sig_atomic_t goes_on;
static void stop(int number) {
  (void)number;
  sigset_t others;
  sigfillset(&others);
  sigdelset(&others, SIGUSR2);
  handled = 1;
  while (!goes_on)
    sigsuspend(&others);
}
static void go_on(int number) { goes_on = number; }
static void stopped(void) {
  struct sigaction handles = {.sa_handler = stop};
  sigaddset(&handles.sa_mask, SIGUSR2);
  EXPECT(0, sigaction(SIGUSR1, &handles, NULL));
  signal(SIGUSR2, go_on);
  write_lock(&lock);
  pthread_t reader = start(read_once, &lock);
  UNTIL(__atomic_load_n(&lock.__data.__readers, __ATOMIC_ACQUIRE) >> 3 != 0);  // waits
  pthread_kill(reader, SIGUSR1);
  UNTIL(handled);
  pthread_kill(reader, SIGUSR2);
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(reader, NULL);
}

// Threads that leave such a call: one is cancelled in it, one jumps out of a handler and goes on,
// by a call from where the first one was, and by one from deeper in its stack.
static void* read_until_cancelled(void* l) {
  EXPECT(0, pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
  return read_lock(l);
}
static void left_cancelled(void) {
  write_lock(&lock);
  pthread_t reader = start(read_until_cancelled, &lock);
  UNTIL(__atomic_load_n(&lock.__data.__readers, __ATOMIC_ACQUIRE) >> 3 != 0);  // waits
  EXPECT(0, pthread_cancel(reader));
  const struct timespec later = {2000000000, 0};
  EXPECT(0, pthread_timedjoin_np(reader, NULL, &later));  // it is cancelled there
  EXPECT(0, pthread_rwlock_unlock(&lock));
}
static volatile int has_left;
static sigjmp_buf before_the_call;
static void jump(int number) { siglongjmp(before_the_call, number); }
static __attribute__((noinline)) void write_from_below(void* l) {
  volatile char room[4096];
  memset((void*)room, 1, sizeof room);
  write_once(l);
  room[0] = 0;
}
static void* reads_and_jumps(void* l) {
  if (sigsetjmp(before_the_call, 1) == 0) {
    read_lock(l);
  } else if (turn == 0) {
    write_once(&other);
  } else {
    write_from_below(&other);
  }
  has_left = 1;
  return NULL;
}
static void leaves_by_jump(void) {
  signal(SIGUSR1, jump);
  write_lock(&lock);
  pthread_t reader = start(reads_and_jumps, &lock);
  UNTIL(__atomic_load_n(&lock.__data.__readers, __ATOMIC_ACQUIRE) >> 3 != 0);  // waits
  pthread_kill(reader, SIGUSR1);
  UNTIL(has_left);
  EXPECT(0, pthread_rwlock_unlock(&lock));
  EXPECT(0, pthread_join(reader, NULL));
}
static void left_by_jump(void) { leaves_by_jump(); }
static void left_by_jump_deeper(void) {
  turn = 1;
  leaves_by_jump();
}

// The same, while the thread is not in a lock function.
static volatile sig_atomic_t waits;
static void* runs_until_handled(void* l) {
  write_once(l);
  waits = 1;
  UNTIL(goes_on);
  return NULL;
}
static void stopped_outside(void) {
  struct sigaction handles = {.sa_handler = stop};
  sigaddset(&handles.sa_mask, SIGUSR2);
  EXPECT(0, sigaction(SIGUSR1, &handles, NULL));
  signal(SIGUSR2, go_on);
  pthread_t worker = start(runs_until_handled, &lock);
  UNTIL(waits);
  pthread_kill(worker, SIGUSR1);
  UNTIL(handled);
  pthread_kill(worker, SIGUSR2);
  pthread_join(worker, NULL);
}
// A thread whose work is to wait for signals isn't stopped by them.
static void* waits_for_signals(void* l) {
  sigset_t now, later;
  sigemptyset(&now);
  sigaddset(&now, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &now, &later);
  write_once(l);
  for (int i = 1; i <= 2; ++i) {
    waits = i;
    sigsuspend(&later);
  }
  return NULL;
}
static void waits_in_sigsuspend(void) {
  signal(SIGUSR2, go_on);
  pthread_t waiter = start(waits_for_signals, &lock);
  for (int i = 1; i <= 2; ++i) {
    UNTIL(waits == i);
    pthread_kill(waiter, SIGUSR2);
  }
  pthread_join(waiter, NULL);
}

// Two locks in two orders. The threads run one after the other: no deadlock is needed to see it.
typedef int (*Take)(pthread_rwlock_t*);
static void take_both(Take first, pthread_rwlock_t* a, Take second, pthread_rwlock_t* b) {
  EXPECT(0, first(a));
  EXPECT(0, second(b));
  EXPECT(0, pthread_rwlock_unlock(b));
  EXPECT(0, pthread_rwlock_unlock(a));
}
static int write_timed(pthread_rwlock_t* l) {
  const struct timespec past = {1, 0};
  return pthread_rwlock_timedwrlock(l, &past);
}
static int read_timed(pthread_rwlock_t* l) {
  const struct timespec past = {1, 0};
  return pthread_rwlock_timedrdlock(l, &past);
}
static const Take kRead = pthread_rwlock_rdlock, kWrite = pthread_rwlock_wrlock;
static void* read_and_read(void* unused) {
  take_both(kRead, &lock, kRead, &other);
  return unused;
}
static void* read_and_read_back(void* unused) {
  take_both(kRead, &other, read_timed, &lock);
  return unused;
}
static void read_orders(void) {
  for (int i = 0; i < 10; ++i) {
    run(read_and_read, NULL);
    run(read_and_read_back, NULL);
  }
}
static void read_orders_of_one(void) {  // beside a thread that took part in nothing
  run(write_once, &lock);
  read_and_read(NULL);
  read_and_read_back(NULL);
}
static void* write_and_read(void* unused) {
  take_both(kWrite, &lock, kRead, &other);
  return unused;
}
static void* write_and_read_back(void* unused) {
  take_both(kWrite, &other, kRead, &lock);
  return unused;
}
static void mixed_orders(void) {
  run(write_and_read, NULL);
  run(read_and_read_back, NULL);
}
static void write_orders(void) {
  run(write_and_read, NULL);
  run(write_and_read_back, NULL);
}
static void* read_and_write(void* unused) {
  take_both(kRead, &lock, kWrite, &other);
  return unused;
}
static void* read_and_write_back(void* unused) {
  take_both(kRead, &other, kWrite, &lock);
  return unused;
}
static void crossed_upgrades(void) {
  run(read_and_write, NULL);
  run(read_and_write_back, NULL);
}
// Opposite orders that can't meet: behind a common mutex or write hold, the second one only tried,
// or written with a deadline; by other locks at the same place; and by a thread that is alone.
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t write_gate = PTHREAD_RWLOCK_INITIALIZER;
static void* behind_a_mutex(void* back) {
  EXPECT(0, pthread_mutex_lock(&gate));
  (back != NULL ? write_and_read_back : write_and_read)(NULL);
  EXPECT(0, pthread_mutex_unlock(&gate));
  return NULL;
}
static void* behind_a_write_hold(void* back) {
  write_lock(&write_gate);
  (back != NULL ? read_and_write_back : read_and_write)(NULL);
  EXPECT(0, pthread_rwlock_unlock(&write_gate));
  return NULL;
}
static void* with_tries(void* back) {
  pthread_rwlock_t* first = back != NULL ? &other : &lock;
  pthread_rwlock_t* second = back != NULL ? &lock : &other;
  take_both(kRead, first, pthread_rwlock_tryrdlock, second);
  take_both(kWrite, first, pthread_rwlock_trywrlock, second);
  take_both(kRead, first, write_timed, second);
  return NULL;
}
static void both_locks_anew(void) {
  EXPECT(0, pthread_rwlock_destroy(&lock));
  EXPECT(0, pthread_rwlock_destroy(&other));
  EXPECT(0, pthread_rwlock_init(&lock, NULL));
  EXPECT(0, pthread_rwlock_init(&other, NULL));
}
static void orders_apart(void) {
  read_and_read(NULL);
  read_and_read_back(NULL);
  void* (*const each[])(void*) = {behind_a_mutex, behind_a_write_hold, with_tries};
  for (size_t i = 0; i < sizeof each / sizeof *each; ++i) {
    both_locks_anew();
    run(each[i], NULL);
    run(each[i], &gate);
  }
  both_locks_anew();
  run(read_and_read, NULL);
  run(write_and_read, NULL);
  both_locks_anew();
  run(read_and_read_back, NULL);
}
// A gate that is not always taken, or by one of two threads alone, is none. One that is taken
// between the two keeps them apart, but makes an opposite order with each.
static void no_gate(void) {
  run(behind_a_mutex, NULL);
  run(write_and_read_back, NULL);
}
// A hold that both threads may have at once keeps nobody apart.
static void* behind_a_read_hold(void* back) {
  read_lock(&write_gate);
  (back != NULL ? read_and_write_back : read_and_write)(NULL);
  EXPECT(0, pthread_rwlock_unlock(&write_gate));
  return NULL;
}
static void read_gate(void) {
  run(behind_a_read_hold, NULL);
  run(behind_a_read_hold, &gate);
}
static void gate_of_some(void) {
  run(behind_a_mutex, NULL);
  run(write_and_read, NULL);
  run(behind_a_mutex, &gate);
}
static void* gate_between(void* back) {
  write_lock(back != NULL ? &other : &lock);
  EXPECT(0, pthread_mutex_lock(&gate));
  write_once(back != NULL ? &lock : &other);
  EXPECT(0, pthread_mutex_unlock(&gate));
  EXPECT(0, pthread_rwlock_unlock(back != NULL ? &other : &lock));
  return NULL;
}
static void late_gate(void) {
  run(gate_between, NULL);
  run(gate_between, &gate);
}
// A hold that another thread ended is no hold.
static void* take_other_then_lock(void* released) {
  EXPECT(0, pthread_rwlock_rdlock(&other));
  turn = 1;
  UNTIL(turn == 2);
  (void)released;
  return read_once(&lock);
}
static void order_released(void) {
  run(read_and_read, NULL);
  pthread_t reader = start(take_other_then_lock, NULL);
  UNTIL(turn == 1);
  EXPECT(0, pthread_rwlock_unlock(&other));
  turn = 2;
  pthread_join(reader, NULL);
}
// More orders than the table has room for; and as many of locks that come and go.
static void orders_full(void) {
  enum { kLocks = 300 };
  static pthread_rwlock_t all[kLocks];
  for (int i = 0; i < kLocks; ++i) {
    for (int j = i + 1; j < kLocks; ++j)
      take_both(kRead, &all[i], kRead, &all[j]);
  }
}
static void orders_recycled(void) {
  read_lock(&lock);
  for (int i = 0; i < 20000; ++i) {
    pthread_rwlock_t own;
    EXPECT(0, pthread_rwlock_init(&own, NULL));
    EXPECT(0, pthread_rwlock_rdlock(&own));
    EXPECT(0, pthread_rwlock_unlock(&own));
    EXPECT(0, pthread_rwlock_destroy(&own));
  }
  EXPECT(0, pthread_rwlock_unlock(&lock));
}

static void* write_in_real_time(void* l) {
  write_once(l);
  const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
  EXPECT(0, pthread_setname_np(pthread_self(), "changes"));
  EXPECT(0, pthread_setschedparam(pthread_self(), SCHED_RR, &lowest));
  return write_once(l);
}
static void* write_as_worker(void* l) {
  EXPECT(0, pthread_setname_np(pthread_self(), "worker"));
  return write_once(l);
}
static void real_time(void) {
  const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
  pthread_attr_t a;
  pthread_t thread;
  EXPECT(0, pthread_attr_init(&a));
  EXPECT(0, pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
  EXPECT(0, pthread_attr_setschedpolicy(&a, SCHED_FIFO));
  EXPECT(0, pthread_attr_setschedparam(&a, &lowest));
  EXPECT(0, pthread_create(&thread, &a, write_as_worker, &lock));
  EXPECT(0, pthread_join(thread, NULL));
  run(write_in_real_time, &lock);
}

static void* write_by_the_scheduler(void* l) {
  const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
  write_once(l);
  EXPECT(0, pthread_setname_np(pthread_self(), "scheduled"));
  EXPECT(0, sched_setscheduler(0, SCHED_RR, &lowest));
  return write_once(l);
}
static void real_time_by_scheduler(void) { run(write_by_the_scheduler, &lock); }

static void in_child(void (*work)(void)) {
  pid_t child = fork();
  if (child == 0) {
    if (work) work();
    exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT(0, status);
}
static void unlock_it(void) { EXPECT(0, pthread_rwlock_unlock(&lock)); }
static void fork_holding(void) {
  read_lock(&lock);
  in_child(unlock_it);
  unlock_it();
}
static void begin_anew(void) {  // as atfork handlers do
  EXPECT(0, pthread_rwlock_init(&lock, NULL));
  write_once(&lock);
}
static void read_again(void) {
  read_lock(&lock);
  unlock_it();
  unlock_it();
}
static void fork_reading(void) {
  read_lock(&lock);
  in_child(read_again);
  unlock_it();
}
static pthread_mutex_t own_mutex = PTHREAD_MUTEX_INITIALIZER;
static void* lock_and_unlock(void* m) {
  EXPECT(0, pthread_mutex_lock(m));
  EXPECT(0, pthread_mutex_unlock(m));
  return NULL;
}
static void unlock_own_mutex(void) { EXPECT(0, pthread_mutex_unlock(&own_mutex)); }
static void fork_mutex(void) {
  EXPECT(0, pthread_mutex_lock(&own_mutex));
  in_child(unlock_own_mutex);
  unlock_own_mutex();
}
// Zero bytes are an initialiser, and a child may begin anew with what it, or its parent, held.
static void destroy_own_mutex(void) {
  EXPECT(0, pthread_mutex_unlock(&own_mutex));
  EXPECT(0, pthread_mutex_destroy(&own_mutex));
}
static void destroy_anew(void) {
  pthread_mutex_destroy(&own_mutex);
  EXPECT(0, pthread_mutex_init(&own_mutex, NULL));
}
static void destroy_clean(void) {
  static pthread_mutex_t m;
  static pthread_rwlock_t l;
  EXPECT(0, pthread_mutex_destroy(&m));
  EXPECT(0, pthread_rwlock_destroy(&l));
  EXPECT(0, pthread_mutex_lock(&own_mutex));
  in_child(destroy_anew);
  in_child(destroy_own_mutex);
  destroy_own_mutex();
  for (int robust = 0; robust < 2; ++robust) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
    pthread_mutexattr_setprotocol(&a, robust ? PTHREAD_PRIO_NONE : PTHREAD_PRIO_PROTECT);
    EXPECT(0, pthread_mutex_init(&m, &a));
    EXPECT(0, pthread_mutex_destroy(&m));
  }
}
static void* reads_until_2(void* l) {
  read_lock(l);
  turn = 1;
  UNTIL(turn == 2);
  EXPECT(0, pthread_rwlock_unlock(l));
  return NULL;
}
// A thread of the child waits for what the one that forked holds.
static void release_to_another(void) {
  pthread_t waiter = start(lock_and_unlock, &own_mutex);
  UNTIL(__atomic_load_n(&own_mutex.__data.__lock, __ATOMIC_ACQUIRE) == 2);  // waits
  unlock_own_mutex();
  pthread_join(waiter, NULL);
}
static void fork_mutex_to_another(void) {
  EXPECT(0, pthread_mutex_lock(&own_mutex));
  in_child(release_to_another);
  unlock_own_mutex();
}
static void fork_others(void) {
  pthread_t reader = start(reads_until_2, &lock);
  UNTIL(turn == 1);
  in_child(begin_anew);
  turn = 2;
  pthread_join(reader, NULL);
}
// A mutex, or a write hold, that a thread of the parent has: the child tries, or waits for ever.
// The child has a copy of it, so the parent sees the wait in the child's system call.
static pthread_mutex_t copied_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t copied_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int waits_at(pid_t process, const void* word) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/syscall", (int)process);
  FILE* call = fopen(path, "r");
  EXPECT(0, call == NULL);
  unsigned long number = 0, first = 0;
  const int got = fscanf(call, "%lu %lx", &number, &first);
  fclose(call);
  return got == 2 && number == SYS_futex && first == (unsigned long)word;
}
static void* writes_until_2(void* l) {
  write_lock(l);
  turn = 1;
  UNTIL(turn == 2);
  EXPECT(0, pthread_rwlock_unlock(l));
  return NULL;
}
static void try_mutex(void) { EXPECT(EBUSY, pthread_mutex_trylock(&copied_mutex)); }
static void fork_over(void* (*hold)(void*), void* what, const void* awaited) {
  pthread_t holder = start(hold, what);
  UNTIL(turn == 1);
  if (awaited == NULL) {
    in_child(try_mutex);
  } else {
    const pid_t child = fork();
    if (child == 0) {
      hold == writes_until_2 ? pthread_rwlock_rdlock(what) : pthread_mutex_lock(what);
      _exit(1);
    }
    UNTIL(waits_at(child, awaited));
    EXPECT(0, kill(child, SIGKILL));
    EXPECT(child, waitpid(child, NULL, 0));
  }
  turn = 2;
  pthread_join(holder, NULL);
}
static void fork_mutex_others(void) { fork_over(holds_mutex, &copied_mutex, NULL); }
static void fork_mutex_waits(void) {
  fork_over(holds_mutex, &copied_mutex, &copied_mutex.__data.__lock);
}
static void fork_write_waits(void) {
  fork_over(writes_until_2, &copied_rwlock, &copied_rwlock.__data.__wrphase_futex);
}
static void fork_waiters(void) {
  read_lock(&lock);
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  in_child(NULL);
  unlock_it();
  pthread_join(writer, NULL);
}
static void write_lock_once(void) { write_once(&lock); }
static void fork_clean(void) {
  write_once(&lock);
  for (int i = 0; i < 3; ++i)
    in_child(write_lock_once);
}

static void kinds(void) {
  static pthread_rwlock_t fixed = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  init_writers_first();
  write_once(&lock);
  write_once(&fixed);
}
static void shared(void) {
  pthread_rwlockattr_t a;
  pthread_rwlockattr_init(&a);
  pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  EXPECT(0, pthread_rwlock_init(&lock, &a));
  run(read_lock, &lock);
  unlock_it();  // across processes that would be usual
}
static void clocks(void) {
  struct timespec past = {1, 0};
  write_lock(&lock);
  for (int i = 0; i < 2; ++i)
    EXPECT(EDEADLK, pthread_rwlock_timedrdlock(&lock, &past));
  unlock_it();
  EXPECT(0, pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &past));
  EXPECT(ETIMEDOUT, pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &past));
  EXPECT(EINVAL, pthread_rwlock_clockwrlock(&lock, CLOCK_BOOTTIME, &past));
  unlock_it();
}

static void many(void) {
  enum { kMany = 5000 };
  pthread_rwlock_t* locks = calloc(kMany, sizeof *locks);
  for (int i = 0; i < kMany; ++i)
    EXPECT(0, (i % 2 ? pthread_rwlock_rdlock : pthread_rwlock_wrlock)(&locks[i]));
  for (int i = 0; i < kMany; ++i)
    EXPECT(0, pthread_rwlock_unlock(&locks[i]));
  for (int i = 0; i < kMany; ++i)
    EXPECT(0, pthread_rwlock_destroy(&locks[i]));
  free(locks);
}

// Their writers go first: under glibc's default kind they may starve, which would be a finding.
static pthread_rwlock_t fair[2] = {PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP,
                                   PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP};
static void* busy(void* unused) {
  for (int i = 0; i < 1000; ++i) {
    pthread_rwlock_t* const one = &fair[i % 3 == 0];
    EXPECT(0, (i % 10 ? pthread_rwlock_rdlock : pthread_rwlock_wrlock)(one));
    EXPECT(0, pthread_rwlock_unlock(one));
  }
  return unused;
}
// Fewer at once than the readers that make a long wait of a writer a finding.
static void threads(void) {
  enum { kAtOnce = 40 };
  pthread_t all[kAtOnce];
  for (int done = 0; done < 200; done += kAtOnce) {
    for (int i = 0; i < kAtOnce; ++i)
      all[i] = start(busy, NULL);
    for (int i = 0; i < kAtOnce; ++i)
      pthread_join(all[i], NULL);
  }
}

static void one_mutex(int type, int robust, int protocol) {
  pthread_mutex_t m;
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  EXPECT(0, pthread_mutexattr_settype(&a, type));
  EXPECT(0, pthread_mutexattr_setrobust(&a, robust));
  EXPECT(0, pthread_mutexattr_setprotocol(&a, protocol));
  EXPECT(0, pthread_mutex_init(&m, &a));
  EXPECT(0, pthread_mutex_lock(&m));
  if (type == PTHREAD_MUTEX_RECURSIVE) {
    EXPECT(0, pthread_mutex_lock(&m));
    EXPECT(0, pthread_mutex_unlock(&m));
  }
  EXPECT(0, pthread_mutex_unlock(&m));
  EXPECT(0, pthread_mutex_destroy(&m));
}
static void mutexes(void) {
  const struct timespec past = {1, 0};
  one_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  one_mutex(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  one_mutex(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
  one_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
  one_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
  static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
  EXPECT(0, pthread_mutex_lock(&a));
  EXPECT(EBUSY, pthread_mutex_trylock(&a));
  EXPECT(ETIMEDOUT, pthread_mutex_timedlock(&a, &past));
  EXPECT(0, pthread_mutex_clocklock(&b, CLOCK_MONOTONIC, &past));
  EXPECT(0, pthread_mutex_unlock(&a));
  EXPECT(0, pthread_mutex_unlock(&b));
  pthread_cond_t condition;
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  EXPECT(0, pthread_cond_init(&condition, &clock));
  EXPECT(0, pthread_mutex_lock(&a));
  EXPECT(ETIMEDOUT, pthread_cond_clockwait(&condition, &a, CLOCK_MONOTONIC, &past));
  EXPECT(0, pthread_mutex_unlock(&a));
}

// A turn goes back and forth: each thread waits as often as it signals, with an initialiser alone.
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static void* take_turns(void* mine) {
  EXPECT(0, pthread_mutex_lock(&turn_mutex));
  for (int i = 0; i < 5; ++i) {
    while (turn != (mine != NULL))
      EXPECT(0, pthread_cond_wait(&turn_changed, &turn_mutex));
    turn = !turn;
    EXPECT(0, (i == 0 ? pthread_cond_broadcast : pthread_cond_signal)(&turn_changed));
  }
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
  return NULL;
}
static void condvars(void) {
  const struct timespec past = {1, 0};
  pthread_t other_one = start(take_turns, &lock);
  take_turns(NULL);
  pthread_join(other_one, NULL);
  EXPECT(0, pthread_mutex_lock(&turn_mutex));
  EXPECT(ETIMEDOUT, pthread_cond_timedwait(&turn_changed, &turn_mutex, &past));
  EXPECT(ETIMEDOUT, pthread_cond_clockwait(&turn_changed, &turn_mutex, CLOCK_MONOTONIC, &past));
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
  EXPECT(0, pthread_cond_destroy(&turn_changed));
}
static void until_it_waits(void) {  // it has given the mutex back
  for (int it_waits = 0; !it_waits;) {
    EXPECT(0, pthread_mutex_lock(&turn_mutex));
    it_waits = turn == 1;
    EXPECT(0, pthread_mutex_unlock(&turn_mutex));
  }
}
// POSIX cancels a waiting thread: the audit may not stand in between.
static void* wait_for_ever(void* unused) {
  EXPECT(0, pthread_mutex_lock(&turn_mutex));
  turn = 1;
  for (;;)
    EXPECT(0, pthread_cond_wait(&turn_changed, &turn_mutex));
  return unused;
}
static void release_turn(void* unused) {
  (void)unused;
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
}
static void* wait_and_release(void* unused) {
  pthread_cleanup_push(release_turn, NULL);
  wait_for_ever(NULL);
  pthread_cleanup_pop(0);
  return unused;
}
static void cancelled_in(void* (*wait)(void*)) {
  pthread_t waiter = start(wait, NULL);
  until_it_waits();
  void* result = NULL;
  EXPECT(0, pthread_cancel(waiter));
  EXPECT(0, pthread_join(waiter, &result));
  EXPECT(1, result == PTHREAD_CANCELED);
}
static void cond_cancelled(void) { cancelled_in(wait_and_release); }
static void cond_cancelled_holding(void) { cancelled_in(wait_for_ever); }

// A thread that holds the lock waits for another, and goes on holding it until turn is 3.
static volatile int is_past_wait;
static void wait_while_holding(Take take, int with_deadline) {
  EXPECT(0, take(&lock));
  EXPECT(0, pthread_mutex_lock(&turn_mutex));
  turn = 1;
  while (turn != 2) {
    struct timespec later = {2000000000, 0};
    if (!with_deadline) {
      EXPECT(0, pthread_cond_wait(&turn_changed, &turn_mutex));
    } else {
      EXPECT(0, pthread_cond_clockwait(&turn_changed, &turn_mutex, CLOCK_REALTIME, &later));
    }
  }
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
  is_past_wait = 1;
  UNTIL(turn == 3);
  EXPECT(0, pthread_rwlock_unlock(&lock));
}
static void* wait_while_reading(void* with_deadline) {
  wait_while_holding(kRead, with_deadline != NULL);
  return NULL;
}
static void* wait_while_writing(void* unused) {
  wait_while_holding(kWrite, 0);
  return unused;
}
static void wake_it(void) {
  EXPECT(0, pthread_mutex_lock(&turn_mutex));
  turn = 2;
  EXPECT(0, pthread_cond_signal(&turn_changed));
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
  UNTIL(is_past_wait);
}
static void writer_during_wait(void* with_deadline) {
  pthread_t reader = start(wait_while_reading, with_deadline);
  until_it_waits();
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  wake_it();
  turn = 3;
  pthread_join(reader, NULL);
  pthread_join(writer, NULL);
}
static void wait_reading(void) { writer_during_wait(NULL); }
static void timed_wait_reading(void) { writer_during_wait(&lock); }
static void wait_reading_writer_first(void) {
  const struct timespec past = {1, 0};
  read_lock(&lock);
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  EXPECT(0, pthread_mutex_lock(&turn_mutex));
  EXPECT(ETIMEDOUT, pthread_cond_timedwait(&turn_changed, &turn_mutex, &past));
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(writer, NULL);
}
static void* ends_with_a_writer(void* writer) {
  UNTIL(turn == 1);  // the joining thread reads
  *(pthread_t*)writer = start(write_once, &lock);
  UNTIL(writer_waits());
  return NULL;
}
static void join_reading(int timed) {
  const struct timespec later = {2000000000, 0};
  pthread_t writer;
  pthread_t other_one = start(ends_with_a_writer, &writer);
  read_lock(&lock);
  turn = 1;
  EXPECT(0, timed == 0   ? pthread_join(other_one, NULL)
            : timed == 1 ? pthread_timedjoin_np(other_one, NULL, &later)
                         : pthread_clockjoin_np(other_one, NULL, CLOCK_REALTIME, &later));
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(writer, NULL);
  turn = 0;
}
static void joins_reading(void) {
  for (int timed = 0; timed < 3; ++timed)
    join_reading(timed);
}
static pthread_barrier_t barrier;
static void* at_the_barrier(void* unused) {
  UNTIL(turn == 1);
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  pthread_barrier_wait(&barrier);
  pthread_join(writer, NULL);
  return unused;
}
static void barrier_reading(void) {
  EXPECT(0, pthread_barrier_init(&barrier, NULL, 2));
  pthread_t other_one = start(at_the_barrier, NULL);
  read_lock(&lock);
  turn = 1;
  pthread_barrier_wait(&barrier);
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(other_one, NULL);
}
// Waits that no writer meets: it asks for another lock, only tries, or comes when the wait is over;
// waits of a thread that writes, or that ends by cancellation and gives the lock back.
static void release_both(void* unused) {
  (void)unused;
  EXPECT(0, pthread_rwlock_unlock(&lock));
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
}
static void* wait_reading_for_ever(void* unused) {
  read_lock(&lock);
  pthread_cleanup_push(release_both, NULL);
  wait_for_ever(NULL);
  pthread_cleanup_pop(0);
  return unused;
}
static void waits_without_writers(void) {
  pthread_t reader = start(wait_while_reading, NULL);
  until_it_waits();
  write_once(&other);
  EXPECT(EBUSY, pthread_rwlock_trywrlock(&lock));
  wake_it();
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  turn = 3;
  pthread_join(reader, NULL);
  pthread_join(writer, NULL);

  turn = is_past_wait = 0;
  pthread_t one_that_writes = start(wait_while_writing, NULL);
  until_it_waits();
  writer = start(write_once, &lock);
  UNTIL(__atomic_load_n(&lock.__data.__writers_futex, __ATOMIC_ACQUIRE) == 3);  // waits
  wake_it();
  turn = 3;
  pthread_join(one_that_writes, NULL);
  pthread_join(writer, NULL);

  turn = 0;
  pthread_t cancelled = start(wait_reading_for_ever, NULL);
  until_it_waits();
  EXPECT(0, pthread_cancel(cancelled));
  pthread_join(cancelled, NULL);
  write_once(&lock);
}

static void cond_unheld(void) {
  const struct timespec past = {1, 0};
  pthread_cond_timedwait(&turn_changed, &turn_mutex, &past);
}
static void one_shared_cond(pthread_mutex_t* m) {
  const struct timespec past = {1, 0};
  pthread_cond_t c;
  pthread_condattr_t a;
  pthread_condattr_init(&a);
  pthread_condattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
  EXPECT(0, pthread_cond_init(&c, &a));
  EXPECT(0, pthread_mutex_lock(m));
  EXPECT(ETIMEDOUT, pthread_cond_timedwait(&c, m, &past));
  EXPECT(0, pthread_mutex_unlock(m));
  EXPECT(0, pthread_cond_destroy(&c));
}
static void cond_shared(void) {
  pthread_mutex_t m;
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
  EXPECT(0, pthread_mutex_init(&m, &a));
  one_shared_cond(&m);
}
static void cond_mixed(void) { one_shared_cond(&turn_mutex); }

// glibc says so of a mutex that a waiting thread will take again.
static void destroy_awaited_mutex(void) {
  pthread_t waiter = start(wait_and_release, NULL);
  until_it_waits();
  EXPECT(EBUSY, pthread_mutex_destroy(&turn_mutex));
  EXPECT(0, pthread_cancel(waiter));
  pthread_join(waiter, NULL);
}
static void* lock_mutex(void* m) {
  EXPECT(0, pthread_mutex_lock(m));
  return NULL;
}
static void foreign_mutex(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_t owner = start(lock_mutex, &mutex);
  pthread_join(owner, NULL);
  EXPECT(0, pthread_mutex_unlock(&mutex));
}

// Threads that end with locks, by each way there is; and those whose locks are released yet: by a
// destructor of their own, or by the thread that they are for.
static void* ends_with_both(void* unused) {
  lock_mutex(&shaky);
  write_lock(&lock);
  read_lock(&other);
  return unused;
}
static void ended_holding(void) { run(ends_with_both, NULL); }
static void* exits_with_both(void* unused) {
  ends_with_both(NULL);
  pthread_exit(unused);
}
static void exited_holding(void) { run(exits_with_both, NULL); }
static void* is_cancelled_with_both(void* unused) {
  ends_with_both(NULL);
  for (;;)
    pause();
  return unused;
}
static void cancelled_holding(void) {
  pthread_t thread = start(is_cancelled_with_both, NULL);
  EXPECT(0, pthread_cancel(thread));
  pthread_join(thread, NULL);
}
static void unlock_both(void* unused) {
  (void)unused;
  EXPECT(0, pthread_mutex_unlock(&shaky));
  EXPECT(0, pthread_rwlock_unlock(&lock));
  EXPECT(0, pthread_rwlock_unlock(&other));
}
static pthread_key_t key;
static void* leaves_it_to_a_destructor(void* unused) {
  ends_with_both(NULL);
  pthread_setspecific(key, &key);
  return unused;
}
static void* leaves_it_to_a_handler(void* unused) {
  ends_with_both(NULL);
  pthread_cleanup_push(unlock_both, NULL);
  pthread_exit(unused);
  pthread_cleanup_pop(0);
  return unused;
}
static void ended_clean(void) {
  EXPECT(0, pthread_key_create(&key, unlock_both));
  for (int i = 0; i < 10; ++i)
    run(leaves_it_to_a_destructor, NULL);
  run(leaves_it_to_a_handler, NULL);
  pthread_mutex_t* own = malloc(sizeof *own);  // and memory that is gone
  EXPECT(0, pthread_mutex_init(own, NULL));
  run(lock_mutex, own);
  EXPECT(0, pthread_mutex_unlock(own));
  free(own);
}
// Prints between how many nanoseconds and how many the longest hold of a mutex lies.
static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}
static void mutex_times(void) {
  const struct timespec nap = {0, 20000000};
  const long outside = now_ns();
  EXPECT(0, pthread_mutex_lock(&own_mutex));
  const long inside = now_ns();
  nanosleep(&nap, NULL);
  const long least = now_ns() - inside;
  EXPECT(0, pthread_mutex_unlock(&own_mutex));
  printf("%ld %ld\n", least, now_ns() - outside);
}
// A wait for a condition variable is no hold: it goes on until it has taken most of the time that
// its mutex can have been held for. Prints how long the thread was seen to sleep in the wait, and
// how long it took beside that.
static volatile int waiters_tid;
static void* waits_for_its_turn(void* unused) {
  EXPECT(0, pthread_mutex_lock(&turn_mutex));
  waiters_tid = gettid();
  while (turn == 0)
    EXPECT(0, pthread_cond_wait(&turn_changed, &turn_mutex));
  EXPECT(0, pthread_mutex_unlock(&turn_mutex));
  return unused;
}
static void cond_times(void) {
  const struct timespec nap = {0, 20000000};
  const long begin = now_ns();
  pthread_t waiter = start(waits_for_its_turn, NULL);
  UNTIL(waiters_tid != 0 && is_asleep(waiters_tid));
  long asleep = 0;
  while (asleep < 4 * (now_ns() - begin - asleep)) {
    const long since = now_ns();
    nanosleep(&nap, NULL);
    asleep += now_ns() - since;
  }
  turn = 1;
  EXPECT(0, pthread_cond_signal(&turn_changed));
  pthread_join(waiter, NULL);
  printf("%ld %ld\n", asleep, now_ns() - begin - asleep);
}
// Readers that relieve each other for more than a second, while a writer waits; and a reader that
// holds the lock for as long, while others come and go.
static void doze(void) {
  const struct timespec nap = {0, 1000000};
  nanosleep(&nap, NULL);
}
static volatile int first_reads, second_reads;  // how often, up to now; -1: not any more
static void* relieves(void* unused) {
  for (int n = 1; first_reads >= 0; ++n) {
    while (first_reads >= 0 && first_reads < n)
      doze();
    read_lock(&lock);
    second_reads = n;
    while (first_reads >= 0 && first_reads <= n)
      doze();
    EXPECT(0, pthread_rwlock_unlock(&lock));
  }
  return unused;
}
static void starving_writer(void) {
  read_lock(&lock);
  pthread_t second = start(relieves, NULL), writer = start(write_once, &lock);
  UNTIL(writer_waits());
  const long end = now_ns() + 1200000000;
  for (int n = 1; n < 60 || now_ns() < end; ++n) {
    first_reads = n;
    while (second_reads < n)
      doze();
    EXPECT(0, pthread_rwlock_unlock(&lock));
    read_lock(&lock);
  }
  first_reads = -1;
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(second, NULL);
  pthread_join(writer, NULL);
}
static void* reads_often(void* l) {
  for (int n = 1; n <= 60; ++n) {
    read_once(l);
    second_reads = n;
  }
  return NULL;
}
static void long_reader(void) {
  read_lock(&lock);
  pthread_t writer = start(write_once, &lock);
  UNTIL(writer_waits());
  const long end = now_ns() + 1200000000;
  pthread_t others = start(reads_often, &lock);
  while (second_reads < 60 || now_ns() < end)
    doze();
  EXPECT(0, pthread_rwlock_unlock(&lock));
  pthread_join(others, NULL);
  pthread_join(writer, NULL);
}
// The main thread leaves a call and takes no lock any more; or ends the process in a handler, while
// the call still waits.
static void* signals_main(void* of_all) {
  write_lock(&lock);
  turn = 1;
  UNTIL(__atomic_load_n(&lock.__data.__readers, __ATOMIC_ACQUIRE) >> 3 != 0);  // waits
  pthread_kill(*(pthread_t*)of_all, SIGUSR1);
  UNTIL(turn == 2);
  EXPECT(0, pthread_rwlock_unlock(&lock));
  return NULL;
}
static void left_by_jump_main(void) {
  pthread_t mine = pthread_self();
  signal(SIGUSR1, jump);
  pthread_t holder = start(signals_main, &mine);
  UNTIL(turn == 1);
  if (sigsetjmp(before_the_call, 1) == 0) read_lock(&lock);
  turn = 2;
  pthread_join(holder, NULL);
}
static void exit_now(int number) {
  (void)number;
  // NOLINTNEXTLINE(bugprone-signal-handler): as programs do
  exit(puts("done") < 0);
}
static void exit_in_handler(void) {
  pthread_t mine = pthread_self();
  signal(SIGUSR1, exit_now);
  start(signals_main, &mine);
  UNTIL(turn == 1);
  read_lock(&lock);
}
// Joins by a thread that holds a lock. Whether it waits for the end already shows its state.
static void until_asleep(pid_t thread) {
  char name[64], text[256];
  snprintf(name, sizeof name, "/proc/self/task/%d/stat", (int)thread);
  for (int asleep = 0; asleep < 5;) {
    doze();
    FILE* const file = fopen(name, "r");
    EXPECT(1, file != NULL && fgets(text, sizeof text, file) != NULL);
    fclose(file);
    asleep = strrchr(text, ')')[2] == 'S' ? asleep + 1 : 0;
  }
}
static void end_at_once(void) {
  puts("done");
  fflush(stdout);
  _exit(0);
}
static pthread_t joined;
static volatile pid_t joining;
static void* ends_when_both_wait(void* word) {
  if (word != NULL) UNTIL(__atomic_load_n((int*)word, __ATOMIC_ACQUIRE) == 2);
  until_asleep(joining);
  end_at_once();
  return NULL;
}
// The thread asks for the lock before the join, or in it.
static void* asks_for_mutex(void* asks_first) {
  if (asks_first == NULL) until_asleep(joining);
  lock_mutex(&shaky);
  return NULL;
}
static void join_for_ever(void* asks_first) {
  joining = getpid();
  lock_mutex(&shaky);
  joined = start(asks_for_mutex, asks_first);
  if (asks_first != NULL) UNTIL(__atomic_load_n(&shaky.__data.__lock, __ATOMIC_ACQUIRE) == 2);
  start(ends_when_both_wait, &shaky.__data.__lock);
  pthread_join(joined, NULL);
}
static void join_holding(void) { join_for_ever(NULL); }
static void join_holding_asked(void) { join_for_ever(&lock); }
static void* asks_to_read(void* unused) {
  until_asleep(joining);
  turn = 1;
  read_lock(&lock);
  return unused;
}
static void* ends_when_it_asks(void* unused) {
  UNTIL(turn == 1);
  UNTIL(__atomic_load_n(&lock.__data.__readers, __ATOMIC_ACQUIRE) >> 3 != 0);  // waits
  end_at_once();
  return unused;
}
static void join_holding_write(void) {
  joining = getpid();
  write_lock(&lock);
  joined = start(asks_to_read, NULL);
  start(ends_when_it_asks, NULL);
  pthread_join(joined, NULL);
}
// It has taken the lock, and doesn't do that again; or takes others, or reads with the other one.
static void* took_mutex(void* unused) {
  lock_and_unlock(&shaky);
  turn = 1;
  until_asleep(joining);
  return unused;
}
static void join_after_taking(void) {
  joining = getpid();
  joined = start(took_mutex, NULL);
  UNTIL(turn == 1);
  lock_mutex(&shaky);
  pthread_join(joined, NULL);
  EXPECT(0, pthread_mutex_unlock(&shaky));
}
static void* takes_others(void* unused) {
  until_asleep(joining);
  read_once(&lock);
  lock_and_unlock(&own_mutex);
  return unused;
}
static void join_clean(void) {
  joining = getpid();
  joined = start(takes_others, NULL);
  read_lock(&lock);
  lock_mutex(&shaky);
  pthread_join(joined, NULL);
  EXPECT(0, pthread_mutex_unlock(&shaky));
  EXPECT(0, pthread_rwlock_unlock(&lock));
}
static void owner_dead(void) {
  pthread_mutex_t m;
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  EXPECT(0, pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
  EXPECT(0, pthread_mutex_init(&m, &a));
  run(lock_mutex, &m);
  EXPECT(EOWNERDEAD, pthread_mutex_lock(&m));
  EXPECT(0, pthread_mutex_consistent(&m));
  EXPECT(0, pthread_mutex_unlock(&m));
}

static const char* library;
static void deepbind(void) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_DEEPBIND);
  EXPECT(1, opened != NULL);
  ((void (*)(void))dlsym(opened, "use_a_lock"))();
}
static void namespaces(void) { EXPECT(1, dlmopen(LM_ID_NEWLM, library, RTLD_NOW) != NULL); }
static void plain_dlopen(void) {
  void* opened = dlopen(library, RTLD_NOW);
  EXPECT(1, opened != NULL);
  ((void (*)(void))dlsym(opened, "use_a_lock"))();
}

static void exec_it(void) {
  write_once(&lock);
  execl("/proc/self/exe", "audit_cases", "recursive", (char*)NULL);
}

static const struct {
  const char* name;
  void (*work)(void);
} cases[] = {
    {"clean", clean},
    {"no_locks", no_locks},
    {"recursive", recursive},
    {"recursive_waiting", recursive_waiting},
    {"shut_out", shut_out},
    {"self_deadlock", self_deadlock},
    {"deadlk", deadlk},
    {"foreign_read", foreign_read},
    {"foreign_write", foreign_write},
    {"unheld", unheld},
    {"destroy_held", destroy_held},
    {"destroy_awaited", destroy_awaited},
    {"destroy_held_by_other", destroy_held_by_other},
    {"destroy_held_mutex", destroy_held_mutex},
    {"destroy_awaited_mutex", destroy_awaited_mutex},
    {"destroy_uninit", destroy_uninit},
    {"destroy_clean", destroy_clean},
    {"init_held", init_held},
    {"reset_held", reset_held},
    {"copied", copied},
    {"in_handler", in_handler},
    {"stopped", stopped},
    {"stopped_outside", stopped_outside},
    {"left_cancelled", left_cancelled},
    {"left_by_jump", left_by_jump},
    {"left_by_jump_deeper", left_by_jump_deeper},
    {"waits_in_sigsuspend", waits_in_sigsuspend},
    {"real_time", real_time},
    {"real_time_by_scheduler", real_time_by_scheduler},
    {"read_orders", read_orders},
    {"read_orders_of_one", read_orders_of_one},
    {"mixed_orders", mixed_orders},
    {"write_orders", write_orders},
    {"crossed_upgrades", crossed_upgrades},
    {"orders_apart", orders_apart},
    {"no_gate", no_gate},
    {"gate_of_some", gate_of_some},
    {"read_gate", read_gate},
    {"late_gate", late_gate},
    {"order_released", order_released},
    {"orders_full", orders_full},
    {"orders_recycled", orders_recycled},
    {"wait_reading", wait_reading},
    {"timed_wait_reading", timed_wait_reading},
    {"wait_reading_writer_first", wait_reading_writer_first},
    {"joins_reading", joins_reading},
    {"barrier_reading", barrier_reading},
    {"waits_without_writers", waits_without_writers},
    {"fork_holding", fork_holding},
    {"fork_mutex", fork_mutex},
    {"fork_reading", fork_reading},
    {"fork_others", fork_others},
    {"fork_mutex_to_another", fork_mutex_to_another},
    {"fork_mutex_others", fork_mutex_others},
    {"fork_mutex_waits", fork_mutex_waits},
    {"fork_write_waits", fork_write_waits},
    {"fork_waiters", fork_waiters},
    {"fork_clean", fork_clean},
    {"kinds", kinds},
    {"shared", shared},
    {"clocks", clocks},
    {"many", many},
    {"threads", threads},
    {"mutexes", mutexes},
    {"condvars", condvars},
    {"cond_cancelled", cond_cancelled},
    {"cond_cancelled_holding", cond_cancelled_holding},
    {"cond_unheld", cond_unheld},
    {"cond_shared", cond_shared},
    {"cond_mixed", cond_mixed},
    {"foreign_mutex", foreign_mutex},
    {"ended_holding", ended_holding},
    {"exited_holding", exited_holding},
    {"cancelled_holding", cancelled_holding},
    {"ended_clean", ended_clean},
    {"mutex_times", mutex_times},
    {"cond_times", cond_times},
    {"starving_writer", starving_writer},
    {"long_reader", long_reader},
    {"left_by_jump_main", left_by_jump_main},
    {"exit_in_handler", exit_in_handler},
    {"join_holding", join_holding},
    {"join_holding_asked", join_holding_asked},
    {"join_holding_write", join_holding_write},
    {"join_after_taking", join_after_taking},
    {"join_clean", join_clean},
    {"owner_dead", owner_dead},
    {"deepbind", deepbind},
    {"namespaces", namespaces},
    {"dlopen", plain_dlopen},
    {"exec", exec_it},
};

int main(int argc, char** argv) {
  library = argc > 2 ? argv[2] : "";
  for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0) continue;
    cases[i].work();
    puts("done");
    return 0;
  }
  fprintf(stderr, "no such case\n");
  return 2;
}
