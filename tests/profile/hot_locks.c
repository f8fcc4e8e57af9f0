// Programs with one hot lock each, planted. Usage: profile_hot_locks CASE [LIBRARY]
//
// Lines that a test looks for carry a mark: "// holder", "// waiter", "// lock".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../asleep.h"
#include "waiter.h"

#define NOINLINE __attribute__((noinline, noclone))

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cold = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t hot_rw = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int over;
static long held_us = 3000;  // from when the waiter sleeps

static void nap(long us) {
  const struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}

// Each thread says who it is before it waits, and sleeps only there.
static void await_asleep(atomic_int* tid, int n) {
  for (int i = 0; i < n; ++i) {
    while (atomic_load(&tid[i]) == 0 || !is_asleep(atomic_load(&tid[i])))
      nap(500);
  }
}

static NOINLINE void use_cold(void) {
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&cold);
    pthread_mutex_unlock(&cold);
  }
}

static NOINLINE void hold_long(void) {
  pthread_mutex_lock(&hot);
  await_waiter();
  nap(held_us);
  pthread_mutex_unlock(&hot);  // holder sleep
}

static NOINLINE void wait_for_it(void) {
  about_to_wait();
  pthread_mutex_lock(&hot);  // waiter sleep
  has_waited();
  pthread_mutex_unlock(&hot);
}

static void* holder(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i) {
    hold_long();
    nap(200);
    use_cold();
  }
  atomic_store(&over, 1);
  return NULL;
}
static void* waiter(void* unused) {
  while (!atomic_load(&over)) {
    wait_for_it();
    nap(100);
  }
  return unused;
}

static void run(void* (*first)(void*), void* (*second)(void*), long rounds) {
  pthread_t t[2];
  pthread_create(&t[0], NULL, first, (void*)rounds);
  pthread_create(&t[1], NULL, second, (void*)rounds);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
}

// --- a holder that computes instead of sleeping

static NOINLINE void spin_inside(void) {
  struct timespec begin, now;
  pthread_mutex_lock(&hot);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 1000000);
  pthread_mutex_unlock(&hot);
}
static void* busy_holder(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i)
    spin_inside();
  atomic_store(&over, 1);
  return NULL;
}

// --- waits in the second half of the run alone

static void late(void) {
  for (int i = 0; i < 100; ++i) {
    use_cold();
    nap(2000);
  }
  run(holder, waiter, 60);
}

// --- a futex of the program's own, which nothing but the kernel sees

static long slept(int whose) {
  struct rusage used;
  getrusage(whose, &used);
  return used.ru_nvcsw;
}
static void own_futex(void) {
  const struct timespec t = {0, 1000000};
  static int word;
  // As the kernel counts them: a wait whose time is over before the thread can sleep is none.
  for (const long begin = slept(RUSAGE_THREAD); slept(RUSAGE_THREAD) - begin < 150;)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

// --- a reader that holds long

static NOINLINE void read_long(void) {
  pthread_rwlock_rdlock(&hot_rw);
  await_waiter();
  nap(3000);
  pthread_rwlock_unlock(&hot_rw);  // holder reader
}
static NOINLINE void write_short(void) {
  about_to_wait();
  pthread_rwlock_wrlock(&hot_rw);  // waiter reader
  has_waited();
  pthread_rwlock_unlock(&hot_rw);
}
static void* long_reader(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i) {
    read_long();
    nap(500);
  }
  atomic_store(&over, 1);
  return NULL;
}
static void* short_writer(void* unused) {
  while (!atomic_load(&over)) {
    write_short();
    nap(100);
  }
  return unused;
}

// --- readers that starve a writer: each leaves when the other one is in

static atomic_int reads;
static atomic_int writer_is_there;
static NOINLINE void read_in_turn(void) {
  pthread_rwlock_rdlock(&hot_rw);
  const int mine = atomic_fetch_add(&reads, 1) + 1;
  while (atomic_load(&reads) == mine && !atomic_load(&over))
    nap(500);
  pthread_rwlock_unlock(&hot_rw);  // holder starving
}
static void* overlapping_reader(void* unused) {
  while (!atomic_load(&over))
    read_in_turn();
  return unused;
}
static NOINLINE void starve(void) {
  pthread_rwlock_wrlock(&hot_rw);  // waiter starving
  pthread_rwlock_unlock(&hot_rw);
}
static void* stop_later(void* unused) {
  while (!atomic_load(&writer_is_there) || !is_asleep(getpid()))
    nap(500);
  nap(150000);
  atomic_store(&over, 1);
  return unused;
}
static void starving(void) {
  pthread_t t[3];
  pthread_create(&t[0], NULL, overlapping_reader, NULL);
  pthread_create(&t[1], NULL, overlapping_reader, NULL);
  pthread_create(&t[2], NULL, stop_later, NULL);
  while (atomic_load(&reads) == 0)
    nap(500);
  atomic_store(&writer_is_there, 1);
  starve();
  for (int i = 0; i < 3; ++i)
    pthread_join(t[i], NULL);
}

// --- a writer that keeps readers waiting, of which some are still to run when others have released

// How long this thread has run.
static long ran_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static atomic_int have_read, late_reads;
static NOINLINE void read_briefly(void) {
  pthread_rwlock_rdlock(&hot_rw);  // waiter late-readers
  if (atomic_load(&have_read) > 0) atomic_fetch_add(&late_reads, 1);
  for (const long begin = ran_ns(); ran_ns() - begin < 500000;) {}
  pthread_rwlock_unlock(&hot_rw);
  atomic_fetch_add(&have_read, 1);
}
static void* read_once(void* tid) {
  atomic_store((atomic_int*)tid, gettid());
  read_briefly();
  return NULL;
}
static NOINLINE void keep_readers(void) {
  static atomic_int tid[4];
  pthread_t t[4];
  pthread_rwlock_wrlock(&hot_rw);
  atomic_store(&have_read, 0);
  for (int i = 0; i < 4; ++i) {
    atomic_store(&tid[i], 0);
    pthread_create(&t[i], NULL, read_once, &tid[i]);
  }
  await_asleep(tid, 4);
  pthread_rwlock_unlock(&hot_rw);  // holder late-readers
  for (int i = 0; i < 4; ++i)
    pthread_join(t[i], NULL);
}
// Prints how many readers came after others had released: each of these has waited for the
// processor for 0.5 ms at least.
static void late_readers(void) {
  cpu_set_t may, one;
  sched_getaffinity(0, sizeof may, &may);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &may)) CPU_SET(i, &one);
  sched_setaffinity(0, sizeof one, &one);  // so that they run one after another
  const struct sched_param none = {0};
  sched_setscheduler(0, SCHED_BATCH, &none);  // and a woken one waits for the one that runs
  while (atomic_load(&late_reads) < 8)
    keep_readers();
  printf("%d\n", atomic_load(&late_reads));
}

// --- a convoy: threads that came during a long hold take the lock one after the other, briefly

enum { kLine = 8 };
static NOINLINE void go_in_a_line(void) {
  pthread_mutex_lock(&hot);  // waiter convoy
  pthread_mutex_unlock(&hot);
}
static void* one_of_a_line(void* tid) {
  atomic_store((atomic_int*)tid, gettid());
  go_in_a_line();
  return NULL;
}
static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
// Returns whether the hold was longer than the line took afterwards. Then all were kept waiting by
// that hold, and not by each other.
static NOINLINE int make_a_line(long us) {
  static atomic_int tid[kLine];
  pthread_t t[kLine];
  pthread_mutex_lock(&hot);
  for (int i = 0; i < kLine; ++i) {
    atomic_store(&tid[i], 0);
    pthread_create(&t[i], NULL, one_of_a_line, &tid[i]);
    // One after the other, since their first calls may wait for each other within the profile.
    await_asleep(&tid[i], 1);
  }
  const long begin = now_ns();
  nap(us);
  const long released = now_ns();
  pthread_mutex_unlock(&hot);  // holder convoy
  for (int i = 0; i < kLine; ++i)
    pthread_join(t[i], NULL);
  return now_ns() - released < released - begin;
}
// Four lines that a long hold kept waiting; where a line takes long the holds become longer. Prints
// how many lines there were.
static void convoy(void) {
  int lines = 0;
  for (long us = 50000, clear = 0; clear < 4; ++lines) {
    if (make_a_line(us)) {
      ++clear;
    } else {
      us *= 2;
    }
  }
  printf("%d\n", lines);
}

// --- locks on the heap, all made in one place

struct box {
  pthread_mutex_t lock;
};
static struct box* boxes[8];
static NOINLINE struct box* make_box(void) {
  struct box* b = malloc(sizeof *b);
  pthread_mutex_init(&b->lock, NULL);  // lock heap
  return b;
}
static atomic_int held_box = -1;
static void* box_holder(void* rounds) {
  for (int i = 0; i < (int)(long)rounds; ++i) {
    struct box* b = boxes[i % 8];
    pthread_mutex_lock(&b->lock);
    atomic_store(&held_box, i);
    await_waiter();
    nap(2000);
    pthread_mutex_unlock(&b->lock);  // holder heap
  }
  atomic_store(&over, 1);
  return NULL;
}
static void* box_waiter(void* rounds) {
  about_to_wait();
  for (int i = 0; i < (int)(long)rounds; ++i) {
    struct box* b = boxes[i % 8];
    while (atomic_load(&held_box) < i) {}  // without a sleep
    pthread_mutex_lock(&b->lock);          // waiter heap
    pthread_mutex_unlock(&b->lock);
  }
  return NULL;
}

// --- counts that are known

static void counts(void) {
  pthread_rwlock_t* l = malloc(sizeof *l);
  pthread_rwlock_init(l, NULL);
  for (int i = 0; i < 700; ++i) {
    pthread_rwlock_rdlock(l);
    pthread_rwlock_rdlock(l);
    pthread_rwlock_unlock(l);
    pthread_rwlock_unlock(l);
  }
  for (int i = 0; i < 300; ++i) {
    pthread_rwlock_wrlock(l);
    pthread_rwlock_unlock(l);
  }
  pthread_rwlock_rdlock(l);
  for (int i = 0; i < 5; ++i)
    pthread_rwlock_trywrlock(l);
  struct timespec past = {1, 0};
  pthread_rwlock_timedwrlock(l, &past);
  pthread_rwlock_unlock(l);
  pthread_rwlock_destroy(l);
  pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
  }
  for (int i = 0; i < 10; ++i)
    use_cold();
}

static void* counting(void* unused) {
  for (int i = 0; i < 20000; ++i) {
    pthread_mutex_lock(&hot);
    pthread_mutex_unlock(&hot);
    pthread_rwlock_rdlock(&hot_rw);
    pthread_rwlock_unlock(&hot_rw);
    if (i % 10 == 0) {
      pthread_rwlock_wrlock(&hot_rw);
      pthread_rwlock_unlock(&hot_rw);
    }
  }
  return unused;
}

// --- a queue

static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items, idle;
// Takes the mutex when so many threads wait for work.
static void lock_idle(int threads) {
  pthread_mutex_lock(&hot);
  while (idle < threads || items != 0) {
    pthread_mutex_unlock(&hot);
    nap(500);
    pthread_mutex_lock(&hot);
  }
}
static void* producer(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i) {
    lock_idle(1);
    pthread_mutex_unlock(&hot);
    nap(500);
    pthread_mutex_lock(&hot);
    ++items;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&hot);
  }
  return NULL;
}
static void* consumer(void* unused) {
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&hot);
    ++idle;
    while (items == 0)
      pthread_cond_wait(&filled, &hot);
    --idle;
    --items;
    pthread_mutex_unlock(&hot);
  }
  return unused;
}

// --- a signal that comes 3 ms before its thread leaves the mutex; one waiter

static atomic_int is_waiting;
static NOINLINE void signal_and_keep(void) {
  pthread_mutex_lock(&hot);
  ++items;
  atomic_store(&is_waiting, 0);
  nap(2000);
  pthread_cond_signal(&filled);  // holder signal
  await_waiter();                // for the mutex, now
  nap(3000);
  pthread_mutex_unlock(&hot);  // holder kept
}
static void* keeper(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i) {
    while (!atomic_load(&is_waiting))
      nap(200);
    signal_and_keep();
  }
  return NULL;
}
static NOINLINE void wait_for_item(void) {
  pthread_mutex_lock(&hot);
  atomic_store(&is_waiting, 1);
  while (items == 0)
    pthread_cond_wait(&filled, &hot);  // waiter signal
  --items;
  pthread_mutex_unlock(&hot);
}
static void* kept_from_mutex(void* rounds) {
  about_to_wait();
  for (int i = 0; i < 20; ++i)
    wait_for_item();
  return rounds;
}

// --- a chain: the last one waits for the one in the middle, which waits for the first one. The
// first one lets go of its lock when both others sleep, so that on any machine each wait of the
// last one is for a hold that waits itself.

enum { chain_rounds = 40 };
struct link {
  atomic_int tid, may_begin, has_begun, is_done;  // the last three: rounds
};
static struct link middle, last;
static atomic_int first_is_out;

// Without a sleep: a link that sleeps waits for a lock.
static int wait_for_round(struct link* link, int round) {
  if (round > chain_rounds) return 0;
  atomic_store(&link->tid, gettid());
  while (atomic_load(&link->may_begin) < round)
    sched_yield();
  atomic_store(&link->has_begun, round);
  return 1;
}
static void let_sleep(struct link* link, int round) {
  atomic_store(&link->may_begin, round);
  while (atomic_load(&link->has_begun) < round || !is_asleep(atomic_load(&link->tid)))
    nap(100);
}
static NOINLINE void* first_of_chain(void* unused) {
  for (int round = 1; round <= chain_rounds; ++round) {
    pthread_mutex_lock(&cold);
    let_sleep(&middle, round);
    let_sleep(&last, round);
    nap(5000);
    pthread_mutex_unlock(&cold);  // holder first
    atomic_store(&first_is_out, round);
    while (atomic_load(&last.is_done) < round)
      nap(100);
  }
  return unused;
}
static NOINLINE void* middle_of_chain(void* unused) {
  for (int round = 1; wait_for_round(&middle, round); ++round) {
    pthread_mutex_lock(&hot);
    pthread_mutex_lock(&cold);  // waiter middle
    // A thread finds out where it is after its release, and only then its waiters know for what
    // they have waited.
    while (atomic_load(&first_is_out) < round)
      sched_yield();
    pthread_mutex_unlock(&cold);
    pthread_mutex_unlock(&hot);  // holder middle
  }
  return unused;
}
static NOINLINE void* last_of_chain(void* unused) {
  for (int round = 1; wait_for_round(&last, round); ++round) {
    pthread_mutex_lock(&hot);  // waiter last
    pthread_mutex_unlock(&hot);
    atomic_store(&last.is_done, round);
  }
  return unused;
}
static void chain(void) {
  pthread_t t;
  pthread_create(&t, NULL, last_of_chain, NULL);
  run(first_of_chain, middle_of_chain, 0);
  pthread_join(t, NULL);
}

// --- a semaphore, a barrier, threads that are joined: each is waited for, 2 ms and more

static sem_t posted;
static NOINLINE void post_late(void) {
  await_waiter();
  nap(2000);
  sem_post(&posted);  // holder semaphore
}
static void* poster(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i)
    post_late();
  return NULL;
}
static NOINLINE void* taker(void* rounds) {
  about_to_wait();
  for (long i = 0; i < (long)rounds; ++i)
    sem_wait(&posted);  // waiter semaphore
  return NULL;
}
static int semaphores(void) {
  struct timespec past = {1, 0};
  sem_init(&posted, 0, 3);
  for (int i = 0; i < 3; ++i)
    if (sem_wait(&posted) != 0) return 2;
  errno = 0;
  if (sem_trywait(&posted) != -1 || errno != EAGAIN) return 3;
  if (sem_timedwait(&posted, &past) != -1 || errno != ETIMEDOUT) return 4;
  if (sem_clockwait(&posted, CLOCK_MONOTONIC, &past) != -1 || errno != ETIMEDOUT) return 5;
  errno = 77;
  sem_post(&posted);
  if (sem_wait(&posted) != 0 || errno != 77) return 6;
  run(poster, taker, 30);
  return sem_destroy(&posted) == 0 ? 0 : 7;
}

static pthread_barrier_t meeting;
static NOINLINE int arrive_late(void) {
  await_waiter();
  nap(2000);
  return pthread_barrier_wait(&meeting);  // holder barrier
}
static NOINLINE int arrive_early(void) {
  return pthread_barrier_wait(&meeting);  // waiter barrier
}
static atomic_int serial;
static void* late_one(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i)
    if (arrive_late() == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serial, 1);
  return NULL;
}
static void* early_one(void* rounds) {
  about_to_wait();
  for (long i = 0; i < (long)rounds; ++i)
    if (arrive_early() == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serial, 1);
  return NULL;
}
static int barriers(void) {
  pthread_barrier_init(&meeting, NULL, 2);
  run(late_one, early_one, 30);
  return pthread_barrier_destroy(&meeting) == 0 && atomic_load(&serial) == 30 ? 0 : 2;
}

static NOINLINE void* long_thread(void* result) {
  use_cold();
  await_waiter();
  nap(20000);
  return result;
}
static int joins(void) {
  for (long i = 0; i < 5; ++i) {
    pthread_t t;
    void* result = NULL;
    pthread_create(&t, NULL, long_thread, (void*)i);
    about_to_wait();
    if (pthread_join(t, &result) != 0 || (long)result != i) return 2;  // waiter join
    has_waited();
  }
  return 0;
}

// A wait for a semaphore that is cancelled, and one that a signal interrupts.
static void nothing(int n) { (void)n; }
static void* cancelled(void* unused) {
  about_to_wait();
  sem_wait(&posted);
  return unused;
}
static void* interrupted_wait(void* unused) {
  about_to_wait();
  return sem_wait(&posted) == -1 && errno == EINTR ? unused : NULL;
}
static int ended_waits(void) {
  struct sigaction act = {.sa_handler = nothing};
  pthread_t t;
  void* result = NULL;
  sem_init(&posted, 0, 0);
  pthread_create(&t, NULL, cancelled, NULL);
  await_waiter();
  pthread_cancel(t);
  if (pthread_join(t, &result) != 0 || result != PTHREAD_CANCELED) return 2;
  has_waited();
  sigaction(SIGUSR1, &act, NULL);
  pthread_create(&t, NULL, interrupted_wait, &posted);
  await_waiter();
  pthread_kill(t, SIGUSR1);
  if (pthread_join(t, &result) != 0 || result != &posted) return 3;
  sem_post(&posted);
  return sem_wait(&posted);
}

// --- a queue whose producer wakes everybody for each piece of work

static pthread_cond_t everybody = PTHREAD_COND_INITIALIZER;
static int pieces, done;
static void* one_of_all(void* unused) {
  pthread_mutex_lock(&hot);
  for (;;) {
    ++idle;
    while (pieces == 0 && !atomic_load(&over)) {
      pthread_cond_wait(&everybody, &hot);
      ++done;
    }
    --idle;
    if (pieces == 0) break;
    --pieces;
    pthread_mutex_unlock(&hot);
    nap(100);
    pthread_mutex_lock(&hot);
  }
  pthread_mutex_unlock(&hot);
  return unused;
}
static void broadcasts(void) {
  enum { kThreads = 6, kPieces = 40 };
  pthread_t t[kThreads];
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&t[i], NULL, one_of_all, NULL);
  for (int i = 0; i < kPieces; ++i) {
    pthread_mutex_lock(&hot);
    while (idle < kThreads || pieces != 0 || done < (kThreads - 1) * i) {
      pthread_mutex_unlock(&hot);
      nap(500);
      pthread_mutex_lock(&hot);
    }
    ++pieces;
    pthread_cond_broadcast(&everybody);
    pthread_mutex_unlock(&hot);
  }
  pthread_mutex_lock(&hot);
  atomic_store(&over, 1);
  pthread_cond_broadcast(&everybody);
  pthread_mutex_unlock(&hot);
  for (int i = 0; i < kThreads; ++i)
    pthread_join(t[i], NULL);
}

// --- a pool with more threads than work

static NOINLINE void* pool_thread(void* unused) {
  pthread_mutex_lock(&hot);
  while (1) {
    while (items == 0 && !atomic_load(&over)) {
      ++idle;
      pthread_cond_wait(&filled, &hot);  // waiter pool
      --idle;
    }
    if (items == 0) break;
    --items;
  }
  pthread_mutex_unlock(&hot);
  return unused;
}
static void pool(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&t[i], NULL, pool_thread, NULL);
  lock_idle(4);
  for (int i = 0; i < 50; ++i) {
    ++items;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&hot);
    nap(2000);
    lock_idle(4);
  }
  atomic_store(&over, 1);
  pthread_cond_broadcast(&filled);  // holder pool
  pthread_mutex_unlock(&hot);
  for (int i = 0; i < 4; ++i)
    pthread_join(t[i], NULL);
}

// --- a handler that locks

static pthread_mutex_t of_handler = PTHREAD_MUTEX_INITIALIZER;
static int handled;
static void handle(int n) {
  (void)n;
  ++handled;
  // NOLINTNEXTLINE(bugprone-signal-handler): what a profile has to bear
  if (pthread_mutex_trylock(&of_handler) == 0) pthread_mutex_unlock(&of_handler);
}
static void* interrupted(void* unused) {
  while (!atomic_load(&over))
    use_cold();
  return unused;
}
static void handlers(void) {
  signal(SIGUSR1, handle);
  pthread_t t;
  pthread_create(&t, NULL, interrupted, NULL);
  for (int i = 0; i < 2000; ++i) {
    pthread_kill(t, SIGUSR1);
    nap(20);
  }
  atomic_store(&over, 1);
  pthread_join(t, NULL);
  printf("%d\n", handled);
}

// --- frames that are hard to unwind: of variable size, aligned, of a signal handler

static NOINLINE void wait_in_handler(int n) {
  (void)n;
  // NOLINTBEGIN(bugprone-signal-handler): the same
  about_to_wait();
  pthread_mutex_lock(&hot);
  has_waited();
  pthread_mutex_unlock(&hot);
  // NOLINTEND(bugprone-signal-handler)
}
static NOINLINE __attribute__((optimize("O2"))) void of_variable_size(long n) {
  volatile char bytes[n];
  bytes[n - 1] = 1;
  raise(SIGUSR2);
  bytes[0] = bytes[n - 1];
}
static NOINLINE __attribute__((optimize("O2"))) void aligned(long n) {
  volatile _Alignas(128) char bytes[256];
  bytes[n] = 1;
  of_variable_size(n * 100 + 1);
  bytes[0] = bytes[n];
}
static void* hard_waiter(void* unused) {
  while (!atomic_load(&over)) {
    aligned(7);
    nap(100);
  }
  return unused;
}

// --- code in no file takes the lock, as a compiler in the program makes it

static void (*made_lock)(pthread_mutex_t*);

static NOINLINE void make_code(const char* with_map) {
  // sub $8,%rsp; movabs $pthread_mutex_lock,%rax; call *%rax; add $8,%rsp; ret
  unsigned char code[] = {0x48, 0x83, 0xec, 8,    0x48, 0xb8, 0,    0,    0, 0,   0,
                          0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
  int (*const lock)(pthread_mutex_t*) = pthread_mutex_lock;
  memcpy(code + 6, &lock, sizeof lock);
  void* const page =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof code);
  memcpy(&made_lock, &page, sizeof page);
  if (with_map == NULL) return;
  char name[64];
  snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
  FILE* const map = fopen(name, "w");
  if (map == NULL) {
    perror(name);
    exit(1);
  }
  fprintf(map, "%lx %lx made lock\n", (unsigned long)page, (unsigned long)sizeof code);
  fclose(map);
}
static void* made_waiter(void* unused) {
  while (!atomic_load(&over)) {
    about_to_wait();
    made_lock(&hot);
    has_waited();
    pthread_mutex_unlock(&hot);
    nap(100);
  }
  return unused;
}

// --- a thread that gives up, each time

static NOINLINE void* gives_up(void* unused) {
  for (int i = 0; i < 10; ++i) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 20 * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_timedlock(&hot, &end);
  }
  return unused;
}
static void give_up(void) {
  pthread_t t;
  pthread_mutex_lock(&hot);
  pthread_create(&t, NULL, gives_up, NULL);
  pthread_join(t, NULL);
  pthread_mutex_unlock(&hot);
}

// --- twelve locks, each of them hotter than the one before

enum { kSeveral = 12 };
static pthread_mutex_t several[kSeveral];
static atomic_int held_one = -1;
static void* hold_several(void* unused) {
  for (int i = 0; i < kSeveral; ++i) {
    pthread_mutex_lock(&several[i]);
    atomic_store(&held_one, i);
    await_waiter();
    nap(1000 * (i + 1));
    pthread_mutex_unlock(&several[i]);
  }
  return unused;
}
static void* wait_for_several(void* unused) {
  about_to_wait();
  for (int i = 0; i < kSeveral; ++i) {
    while (atomic_load(&held_one) < i) {}  // without a sleep
    pthread_mutex_lock(&several[i]);
    pthread_mutex_unlock(&several[i]);
  }
  return unused;
}

// --- more waits than are kept one by one

static pthread_barrier_t crowded;
static void* one_of_a_crowd(void* rounds) {
  for (long i = 0; i < (long)rounds; ++i)
    pthread_barrier_wait(&crowded);
  return NULL;
}
static void crowd(void) {
  enum { kThreads = 32 };
  pthread_t t[kThreads];
  pthread_barrier_init(&crowded, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i)
    pthread_create(&t[i], NULL, one_of_a_crowd, (void*)2500L);
  for (int i = 0; i < kThreads; ++i)
    pthread_join(t[i], NULL);
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "sleep") == 0) {  // sleep [US [ROUNDS]]
    if (argc > 2) held_us = atol(argv[2]);
    run(holder, waiter, argc > 3 ? atol(argv[3]) : 40);
  } else if (strcmp(name, "once") == 0) {  // one long hold, never expected
    held_us = 100000;
    run(holder, waiter, 1);
  } else if (strcmp(name, "futex") == 0) {
    use_cold();
    own_futex();
    printf("%ld\n", slept(RUSAGE_SELF));
  } else if (strcmp(name, "semaphores") == 0) {
    return semaphores();
  } else if (strcmp(name, "barriers") == 0) {
    return barriers();
  } else if (strcmp(name, "joins") == 0) {
    return joins();
  } else if (strcmp(name, "ended-waits") == 0) {
    return ended_waits();
  } else if (strcmp(name, "busy") == 0) {
    run(busy_holder, waiter, 200);
  } else if (strcmp(name, "late") == 0) {
    late();
  } else if (strcmp(name, "reader") == 0) {
    run(long_reader, short_writer, 40);
  } else if (strcmp(name, "starving") == 0) {
    starving();
  } else if (strcmp(name, "late-readers") == 0) {
    late_readers();
  } else if (strcmp(name, "convoy") == 0) {
    convoy();
  } else if (strcmp(name, "frames") == 0) {
    signal(SIGUSR2, wait_in_handler);
    run(holder, hard_waiter, 40);
  } else if (strcmp(name, "heap") == 0) {
    for (int i = 0; i < 8; ++i)
      boxes[i] = make_box();
    run(box_holder, box_waiter, 60);
  } else if (strcmp(name, "fork") == 0) {
    use_cold();
    const pid_t child = fork();
    if (child == 0) {
      run(holder, waiter, 30);
      return 0;
    }
    waitpid(child, NULL, 0);
  } else if (strcmp(name, "exec") == 0) {
    use_cold();
    execl("/proc/self/exe", argv[0], "sleep", (char*)NULL);
  } else if (strcmp(name, "killed") == 0) {
    pthread_t t;
    pthread_create(&t, NULL, waiter, NULL);
    for (int i = 0; i < 40; ++i) {
      hold_long();
      nap(200);
    }
    kill(getpid(), SIGKILL);
  } else if (strcmp(name, "made") == 0) {
    make_code(argv[2]);
    run(holder, made_waiter, 30);
  } else if (strcmp(name, "waiting-for-signal") == 0) {
    run(holder, waiter, 30);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    pause();
  } else if (strcmp(name, "library") == 0) {
    void* library = dlopen(argv[2], RTLD_NOW);
    if (library == NULL) return 3;
    void (*work)(void) = (void (*)(void))dlsym(library, "library_work");
    work();
    dlclose(library);
  } else if (strcmp(name, "counts") == 0) {
    counts();
  } else if (strcmp(name, "gives-up") == 0) {
    give_up();
  } else if (strcmp(name, "threads") == 0) {
    run(counting, counting, 0);
  } else if (strcmp(name, "queue") == 0) {
    run(producer, consumer, 50);
  } else if (strcmp(name, "signal") == 0) {
    run(keeper, kept_from_mutex, 20);
  } else if (strcmp(name, "chain") == 0) {
    chain();
  } else if (strcmp(name, "broadcasts") == 0) {
    broadcasts();
  } else if (strcmp(name, "pool") == 0) {
    pool();
  } else if (strcmp(name, "several") == 0) {
    run(hold_several, wait_for_several, 0);
  } else if (strcmp(name, "crowd") == 0) {
    crowd();
  } else if (strcmp(name, "handlers") == 0) {
    handlers();
  } else {
    fprintf(stderr, "what?\n");
    return 1;
  }
  return 0;
}
