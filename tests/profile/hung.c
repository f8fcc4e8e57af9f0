// Programs that hang, each in a way that is known. Usage: profile_hung CASE
//
// Lines that a test looks for carry a mark: "// NAME". Threads have names.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "../asleep.h"
#include "named_thread.h"
#include "waiter.h"

#define NOINLINE __attribute__((noinline, noclone))

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static atomic_int stage;

static void nap(long us) {
  const struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}
static void reach(int n) {
  atomic_fetch_add(&stage, 1);
  while (atomic_load(&stage) < n)
    nap(500);
}
static NOINLINE void sleep_for_ever(void) {
  while (1)
    pause();
}

// --- two mutexes, taken in two orders

static NOINLINE void* first_a(void* unused) {
  pthread_mutex_lock(&a);  // holds a
  reach(2);
  pthread_mutex_lock(&b);  // waits for b
  return unused;
}
static NOINLINE void* first_b(void* unused) {
  pthread_mutex_lock(&b);  // holds b
  reach(2);
  pthread_mutex_lock(&a);  // waits for a
  return unused;
}

// --- the same, but both give up at a point in time, or one of them

static struct timespec in_an_hour(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += 3600;
  return t;
}
static NOINLINE void* first_a_for_a_time(void* unused) {
  const struct timespec end = in_an_hour();
  pthread_mutex_lock(&a);
  reach(2);
  pthread_mutex_timedlock(&b, &end);  // waits for b until then
  return unused;
}
static NOINLINE void* first_b_for_a_time(void* unused) {
  const struct timespec end = in_an_hour();
  pthread_mutex_lock(&b);
  reach(2);
  pthread_mutex_timedlock(&a, &end);
  return unused;
}

// --- a chain: tail waits for middle, which waits for head, which sleeps

static NOINLINE void* head(void* unused) {
  pthread_mutex_lock(&a);  // head holds
  reach(1);
  sleep_for_ever();
  return unused;
}
static NOINLINE void* middle(void* unused) {
  while (atomic_load(&stage) < 1)
    nap(500);
  pthread_mutex_lock(&b);
  atomic_fetch_add(&stage, 1);
  pthread_mutex_lock(&a);
  return unused;
}
static NOINLINE void* tail(void* unused) {
  while (atomic_load(&stage) < 2)
    nap(500);
  pthread_mutex_lock(&b);
  return unused;
}

// --- a reader that never leaves, and one that wants to write besides

static NOINLINE void* reader(void* unused) {
  pthread_rwlock_rdlock(&table);  // reader holds
  atomic_fetch_add(&stage, 1);
  sleep_for_ever();
  return unused;
}
static NOINLINE void* writer(void* unused) {
  while (atomic_load(&stage) < 1)
    nap(500);
  pthread_rwlock_wrlock(&table);  // writer waits
  return unused;
}
static NOINLINE void* upgrader(void* unused) {
  pthread_rwlock_rdlock(&table);
  pthread_rwlock_wrlock(&table);
  return unused;
}

// --- many threads that wait for the same at the same place

static NOINLINE void* client(void* unused) {
  pthread_rwlock_wrlock(&table);  // many wait
  return unused;
}
static NOINLINE void* idle(void* unused) {
  pthread_mutex_lock(&c);
  pthread_cond_wait(&filled, &c);
  return unused;
}
static void many(void) {
  pthread_t t;
  start_named(&t, "reader", reader);
  while (atomic_load(&stage) < 1)
    nap(500);
  for (int i = 0; i < 30; ++i) {
    start_named(&t, "client", client);
    start_named(&t, "idle", idle);
  }
  sleep_for_ever();
}

// --- a signal that came before the wait for it

static NOINLINE void* signaller(void* unused) {
  pthread_mutex_lock(&a);
  pthread_cond_signal(&filled);  // signals
  pthread_mutex_unlock(&a);
  atomic_fetch_add(&stage, 1);
  sleep_for_ever();
  return unused;
}
static NOINLINE void* late(void* unused) {
  while (atomic_load(&stage) < 1)
    nap(500);
  nap(20000);
  pthread_mutex_lock(&a);
  pthread_cond_wait(&filled, &a);  // waits for the signal
  pthread_mutex_unlock(&a);
  return unused;
}

// --- a signal in time, but its thread keeps the mutex

static NOINLINE void* early(void* unused) {
  pthread_mutex_lock(&a);
  atomic_fetch_add(&stage, 1);
  pthread_cond_wait(&filled, &a);
  pthread_mutex_unlock(&a);
  return unused;
}
static NOINLINE void* keeper(void* unused) {
  while (atomic_load(&stage) < 1)
    nap(500);
  pthread_mutex_lock(&a);        // keeps the mutex
  pthread_cond_signal(&filled);  // signals in time
  sleep_for_ever();
  return unused;
}

// --- a signal in time, but its thread waits for a lock that the signalled one holds

static NOINLINE void* holds_b_and_waits(void* unused) {
  pthread_mutex_lock(&b);  // keeps b in its wait
  pthread_mutex_lock(&a);
  atomic_fetch_add(&stage, 1);
  pthread_cond_wait(&filled, &a);  // waits with b
  pthread_mutex_unlock(&a);
  return unused;
}
static NOINLINE void* signals_and_wants_b(void* unused) {
  while (atomic_load(&stage) < 1)
    nap(500);
  pthread_mutex_lock(&a);
  pthread_cond_signal(&filled);
  pthread_mutex_lock(&b);  // wants b with a
  return unused;
}
// The same without the signal: another thread may still give it.
static NOINLINE void* wants_b(void* unused) {
  while (atomic_load(&stage) < 1)
    nap(500);
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  return unused;
}
// One of two was signalled, and that one has gone on.
static NOINLINE void* goes_on(void* unused) {
  early(unused);
  atomic_fetch_add(&stage, 1);
  return unused;
}
static NOINLINE void* goes_on_too(void* unused) {
  while (atomic_load(&stage) < 1)
    nap(500);
  return goes_on(unused);
}
static NOINLINE void* signals_one(void* unused) {
  while (atomic_load(&stage) < 2)
    nap(500);
  pthread_mutex_lock(&a);
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&a);
  while (atomic_load(&stage) < 3)
    nap(500);
  pthread_mutex_lock(&a);
  sleep_for_ever();
  return unused;
}

// --- a thread that ended with the lock

static NOINLINE void* forgetful(void* unused) {
  pthread_mutex_lock(&a);  // leaves it locked
  return unused;
}
static NOINLINE void* later(void* unused) {
  nap(20000);
  pthread_mutex_lock(&a);
  return unused;
}

// --- the first thread ends with the lock, and the process goes on

static NOINLINE void end_first(void) {
  pthread_t t;
  pthread_mutex_lock(&a);  // the first thread leaves it locked
  start_named(&t, "later", later);
  pthread_exit(NULL);
}

// --- a hold of 20 ms again and again, and a thread that waits for it each time; and a lock that is
// taken often

static NOINLINE void* slow(void* unused) {
  while (1) {
    pthread_mutex_lock(&a);
    await_waiter();
    nap(20000);
    pthread_mutex_unlock(&a);  // slow holds until
    nap(100);
  }
  return unused;
}
static NOINLINE void* kept_waiting(void* unused) {
  while (1) {
    about_to_wait();
    pthread_mutex_lock(&a);  // is kept waiting
    has_waited();
    pthread_mutex_unlock(&a);
    nap(100);
  }
  return unused;
}
static NOINLINE void* often(void* unused) {
  while (1) {
    for (int i = 0; i < 100; ++i) {
      pthread_mutex_lock(&c);
      pthread_mutex_unlock(&c);
    }
    nap(1000);
  }
  return unused;
}

// --- all goes well

static NOINLINE void* busy(void* unused) {
  while (1) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
  }
  return unused;
}

// --- a semaphore, a barrier, and a thread that is joined by the one whose mutex it wants

static sem_t the_semaphore;
static pthread_barrier_t the_barrier;

static NOINLINE void* poster(void* unused) {
  sem_wait(&the_semaphore);  // waits for a post
  return unused;
}
static NOINLINE void* comer(void* unused) {
  pthread_barrier_wait(&the_barrier);  // waits for the others
  return unused;
}
static NOINLINE void* joined(void* unused) {
  pthread_mutex_lock(&a);
  return unused;
}
static NOINLINE void meet(void) {
  pthread_t t[3];
  sem_init(&the_semaphore, 0, 0);
  pthread_barrier_init(&the_barrier, NULL, 2);
  pthread_mutex_lock(&a);
  start_named(&t[0], "poster", poster);
  start_named(&t[1], "comer", comer);
  start_named(&t[2], "joined", joined);
  pthread_join(t[2], NULL);
}

static void run(const char* one, void* (*f)(void*), const char* two, void* (*g)(void*),
                const char* three, void* (*h)(void*)) {
  pthread_t t[3];
  start_named(&t[0], one, f);
  start_named(&t[1], two, g);
  if (h != NULL) start_named(&t[2], three, h);
  pthread_join(t[1], NULL);
  pthread_join(t[0], NULL);
}

// --- all threads wait, and what looks like it

static sem_t s1, s2;
static atomic_int waiter_is;

static NOINLINE void* waits_there(void* unused) {
  atomic_store(&waiter_is, gettid());
  pthread_mutex_lock(&a);
  pthread_cond_wait(&filled, &a);  // waits there
  pthread_mutex_unlock(&a);
  return unused;
}
static NOINLINE void* sleeps(void* unused) {
  pause();
  return unused;
}
static void until_asleep(atomic_int* thread);
static NOINLINE void destroy(const char* name) {
  pthread_t t;
  if (strcmp(name, "destroy-beside") == 0) start_named(&t, "sleeps", sleeps);
  start_named(&t, "waits", waits_there);
  until_asleep(&waiter_is);
  pthread_cond_destroy(&filled);  // destroys it
}
static NOINLINE void* s1_and_s2(void* unused) {
  sem_wait(&s1);
  reach(2);
  sem_wait(&s2);
  return unused;
}
static NOINLINE void* s2_and_s1(void* unused) {
  sem_wait(&s2);
  reach(2);
  sem_wait(&s1);
  return unused;
}
static void post(int number) {
  (void)number;
  sem_post(&the_semaphore);
}
static NOINLINE void wait_for_post(const char* name) {
  static char page[4096] __attribute__((aligned(4096)));
  sem_t* s = &the_semaphore;
  if (strcmp(name, "post-handler") == 0) signal(SIGUSR1, post);
  if (strcmp(name, "post-shared") == 0)
    s = mmap(page, sizeof page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
             0);
  sem_init(s, s != &the_semaphore, 0);
  sem_wait(s);
}

// --- a forked child, and locks that were held at the fork

static NOINLINE void* keeps_a(void* unused) {
  pthread_mutex_lock(&a);  // is held at the fork
  reach(1);
  sleep_for_ever();
  return unused;
}
static void release_a(void) { pthread_mutex_unlock(&a); }
static NOINLINE void* wants_a(void* unused) {
  pthread_mutex_lock(&a);
  return unused;
}
static NOINLINE void in_child(const char* name) {
  if (strcmp(name, "fork-reader") == 0) {
    pthread_rwlock_wrlock(&table);
  } else if (strcmp(name, "fork-released") == 0) {
    pthread_t t;
    pthread_mutex_lock(&a);  // holds it itself
    start_named(&t, "wants", wants_a);
    sleep_for_ever();
  } else {
    pthread_mutex_lock(&a);
  }
}
static void fork_holding(const char* name) {
  pthread_t t;
  if (strcmp(name, "fork-mutex") == 0) {
    start_named(&t, "keeper", keeps_a);
  } else if (strcmp(name, "fork-reader") == 0) {
    start_named(&t, "reader", reader);
  } else {
    if (strcmp(name, "fork-released") == 0) pthread_atfork(NULL, NULL, release_a);
    pthread_mutex_lock(&a);  // holds it at the fork
    atomic_fetch_add(&stage, 1);
  }
  while (atomic_load(&stage) < 1)
    nap(500);
  const pid_t child = fork();
  if (child == 0) in_child(name);
  printf("%d\n", (int)child);
  fflush(stdout);
  waitpid(child, NULL, 0);
}

// --- a thread that leaves the call in which it waits, and one that waits behind it

static atomic_int leaver_is, next_is;  // thread ids
static sigjmp_buf before_the_call;

static NOINLINE void* is_cancelled(void* unused) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  atomic_store(&leaver_is, gettid());
  pthread_mutex_lock(&a);  // is cancelled
  return unused;
}
static void jump(int number) { siglongjmp(before_the_call, number); }
static NOINLINE void* jumps(void* unused) {
  if (sigsetjmp(before_the_call, 1) == 0) {
    atomic_store(&leaver_is, gettid());
    pthread_mutex_lock(&a);  // jumps
  }
  pthread_mutex_lock(&b);
  atomic_fetch_add(&stage, 1);
  sleep_for_ever();
  return unused;
}
static NOINLINE void* next(void* unused) {
  atomic_store(&next_is, gettid());
  pthread_mutex_lock(&a);  // is next
  return unused;
}
static void until_asleep(atomic_int* thread) {
  while (atomic_load(thread) == 0 || !is_asleep(atomic_load(thread)))
    nap(500);
}
static void leave(void* (*leaver)(void*)) {
  pthread_t left, behind;
  signal(SIGUSR1, jump);
  pthread_mutex_lock(&a);
  start_named(&left, "leaver", leaver);
  until_asleep(&leaver_is);
  if (leaver == jumps) {
    pthread_kill(left, SIGUSR1);
    while (atomic_load(&stage) == 0)
      nap(500);
  } else {
    pthread_cancel(left);
    pthread_join(left, NULL);
  }
  start_named(&behind, "next", next);
  until_asleep(&next_is);
  pthread_mutex_unlock(&a);
  pthread_join(behind, NULL);
}

// --- a thread that is in a signal handler when its turn comes

static atomic_int is_away;
static NOINLINE void stay_away(int number) {
  (void)number;
  sigset_t all;
  sigfillset(&all);
  atomic_store(&is_away, 1);
  while (1)
    sigsuspend(&all);  // stays away
}
static NOINLINE void* gets_it(void* unused) {
  atomic_store(&leaver_is, gettid());
  pthread_mutex_lock(&a);
  return unused;
}
static NOINLINE void* then_next(void* unused) {
  atomic_store(&next_is, gettid());
  pthread_mutex_lock(&a);
  sleep_for_ever();
  return unused;
}
static void hand_on(void) {
  pthread_t t, behind;
  signal(SIGUSR1, stay_away);
  pthread_mutex_lock(&a);
  start_named(&t, "away", gets_it);
  until_asleep(&leaver_is);
  start_named(&behind, "next", then_next);
  until_asleep(&next_is);
  pthread_kill(t, SIGUSR1);
  while (atomic_load(&is_away) == 0)
    nap(500);
  until_asleep(&leaver_is);
  pthread_mutex_unlock(&a);
  sleep_for_ever();
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "deadlock") == 0) {
    run("first-a", first_a, "first-b", first_b, NULL, NULL);
  } else if (strcmp(name, "until") == 0) {
    run("first-a", first_a_for_a_time, "first-b", first_b_for_a_time, NULL, NULL);
  } else if (strcmp(name, "one-until") == 0) {
    run("first-a", first_a_for_a_time, "first-b", first_b, NULL, NULL);
  } else if (strcmp(name, "fork") == 0) {
    pthread_mutex_lock(&c);
    pthread_mutex_unlock(&c);
    const pid_t child = fork();
    if (child == 0) run("first-a", first_a, "first-b", first_b, NULL, NULL);
    printf("%d\n", (int)child);
    fflush(stdout);
    waitpid(child, NULL, 0);
  } else if (strncmp(name, "destroy", 7) == 0) {
    destroy(name);
  } else if (strcmp(name, "semaphores") == 0) {
    sem_init(&s1, 0, 1);
    sem_init(&s2, 0, 1);
    run("one", s1_and_s2, "two", s2_and_s1, NULL, NULL);
  } else if (strncmp(name, "post", 4) == 0) {
    wait_for_post(name);
  } else if (strncmp(name, "fork-", 5) == 0) {
    fork_holding(name);
  } else if (strcmp(name, "meetings") == 0) {
    meet();
  } else if (strcmp(name, "self") == 0) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
  } else if (strcmp(name, "chain") == 0) {
    run("head", head, "middle", middle, "tail", tail);
  } else if (strcmp(name, "reader") == 0) {
    run("reader", reader, "writer", writer, NULL, NULL);
  } else if (strcmp(name, "many") == 0) {
    many();
  } else if (strcmp(name, "upgrade") == 0) {
    run("upgrader", upgrader, "upgrader-too", upgrader, NULL, NULL);
  } else if (strcmp(name, "lost") == 0) {
    run("late", late, "signaller", signaller, NULL, NULL);
  } else if (strcmp(name, "kept") == 0) {
    run("early", early, "keeper", keeper, NULL, NULL);
  } else if (strcmp(name, "crossed") == 0) {
    run("waits", holds_b_and_waits, "signals", signals_and_wants_b, NULL, NULL);
  } else if (strcmp(name, "unsignalled") == 0) {
    run("waits", holds_b_and_waits, "wants", wants_b, NULL, NULL);
  } else if (strcmp(name, "one-of-two") == 0) {
    run("one", goes_on, "signals", signals_one, "other", goes_on_too);
  } else if (strcmp(name, "gone") == 0) {
    run("later", later, "forgetful", forgetful, NULL, NULL);
  } else if (strcmp(name, "first") == 0) {
    end_first();
  } else if (strcmp(name, "slow") == 0) {
    run("slow", slow, "kept-waiting", kept_waiting, "often", often);
  } else if (strcmp(name, "handed") == 0) {
    hand_on();
  } else if (strcmp(name, "left-cancelled") == 0) {
    leave(is_cancelled);
  } else if (strcmp(name, "left-jump") == 0) {
    leave(jumps);
  } else if (strcmp(name, "busy") == 0) {
    run("busy", busy, "busy-too", busy, NULL, NULL);
  } else {
    fprintf(stderr, "what?\n");
    return 1;
  }
  return 0;
}
