// Programs for test_orders.py: each takes locks in some orders, and prints "done".
//   audit_orders NAME
// Threads run one after the other where no case says otherwise: no deadlock is needed to see it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#include "../expect.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void lock(pthread_mutex_t* m) { EXPECT(0, pthread_mutex_lock(m)); }
static void unlock(pthread_mutex_t* m) { EXPECT(0, pthread_mutex_unlock(m)); }
static pthread_t start(void* (*work)(void*), void* with) {
  pthread_t thread;
  EXPECT(0, pthread_create(&thread, NULL, work, with));
  return thread;
}
static void run(void* (*work)(void*), void* with) {
  EXPECT(0, pthread_join(start(work, with), NULL));
}

static void both(pthread_mutex_t* a, pthread_mutex_t* b) {
  lock(a);
  lock(b);
  unlock(b);
  unlock(a);
}
static void* deposit(void* unused) {
  both(&first, &second);
  return unused;
}
static void* withdraw(void* unused) {
  both(&second, &first);
  return unused;
}
static void opposite(void) {
  for (int i = 0; i < 10; ++i) {
    run(deposit, NULL);
    run(withdraw, NULL);
  }
}

static void* pass_on(void* unused) {
  both(&second, &third);
  return unused;
}
static void* bring_back(void* unused) {
  both(&third, &first);
  return unused;
}
static void three(void) {
  run(deposit, NULL);
  run(pass_on, NULL);
  run(bring_back, NULL);
}

// Some locks in a ring, each thread has two that are neighbours.
static pthread_mutex_t ring[16];
static void* neighbours(void* two) {
  pthread_mutex_t** m = two;
  both(m[0], m[1]);
  return NULL;
}
static void rings(int locks) {
  for (int i = 0; i < locks; ++i)
    EXPECT(0, pthread_mutex_init(&ring[i], NULL));
  for (int i = 0; i < locks; ++i) {
    pthread_mutex_t* two[] = {&ring[i], &ring[(i + 1) % locks]};
    run(neighbours, two);
  }
}
static void ring_of_twelve(void) { rings(12); }
static void ring_of_thirteen(void) { rings(13); }

static void* write_table(void* unused) {
  lock(&first);
  EXPECT(0, pthread_rwlock_wrlock(&table));
  EXPECT(0, pthread_rwlock_unlock(&table));
  unlock(&first);
  return unused;
}
static void* look_up(void* mutex) {
  EXPECT(0, pthread_rwlock_rdlock(&table));
  lock(mutex);
  unlock(mutex);
  EXPECT(0, pthread_rwlock_unlock(&table));
  return NULL;
}
static void mutex_and_rwlock(void) {
  run(write_table, NULL);
  run(look_up, &first);
}
static void* read_table(void* unused) {
  lock(&first);
  EXPECT(0, pthread_rwlock_rdlock(&table));
  EXPECT(0, pthread_rwlock_unlock(&table));
  unlock(&first);
  return unused;
}
static void three_with_reads(void) {
  run(read_table, NULL);
  run(look_up, &second);
  run(withdraw, NULL);
}

static void* gated(void* work) {
  lock(&gate);
  ((void* (*)(void*))work)(NULL);
  unlock(&gate);
  return NULL;
}
static void gates(void) {
  run(gated, deposit);
  run(gated, withdraw);
}
// Only two of the three threads take the gate, so these two never meet.
static void gate_of_two(void) {
  run(gated, deposit);
  run(gated, pass_on);
  run(bring_back, NULL);
}

static void* try_back(void* unused) {
  const struct timespec past = {1, 0};
  lock(&second);
  EXPECT(0, pthread_mutex_trylock(&first));
  unlock(&first);
  EXPECT(0, pthread_mutex_timedlock(&first, &past));
  unlock(&first);
  EXPECT(0, pthread_mutex_clocklock(&first, CLOCK_MONOTONIC, &past));
  unlock(&first);
  unlock(&second);
  return unused;
}
static void tries(void) {
  run(deposit, NULL);
  run(try_back, NULL);
}
static void* try_then_lock(void* unused) {
  EXPECT(0, pthread_mutex_trylock(&second));
  lock(&first);
  unlock(&first);
  unlock(&second);
  return unused;
}
static void held_by_a_try(void) {
  run(deposit, NULL);
  run(try_then_lock, NULL);
}

static void only_thread(void) {
  deposit(NULL);
  withdraw(NULL);
}
static void* take_third(void* unused) {
  lock(&third);
  unlock(&third);
  return unused;
}
static void same_thread(void) {
  run(take_third, NULL);
  only_thread();
}
// The first thread has its orders while there is no other one.
static void before_threads(void) {
  deposit(NULL);
  run(withdraw, NULL);
}
static void before_and_after(void) {
  before_threads();
  deposit(NULL);
}

static void* lock_again(void* m) {
  lock(m);
  lock(&second);
  lock(m);
  unlock(m);
  unlock(&second);
  unlock(m);
  return NULL;
}
static void recursive(void) {
  pthread_mutexattr_t a;
  pthread_mutex_t again;
  EXPECT(0, pthread_mutexattr_init(&a));
  EXPECT(0, pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE));
  EXPECT(0, pthread_mutex_init(&again, &a));
  run(lock_again, &again);
  run(lock_again, &again);
}

// A list whose nodes are locked one after the next. Their memory is used again, at other places.
enum { kNodes = 6 };
static struct {
  pthread_mutex_t lock;
  int next;
} node[kNodes];
static void* walk(void* from) {
  int at = *(int*)from;
  lock(&node[at].lock);
  for (int next = node[at].next; next >= 0; next = node[at].next) {
    lock(&node[next].lock);
    unlock(&node[at].lock);
    at = next;
  }
  unlock(&node[at].lock);
  return NULL;
}
static void list(void) {
  for (int turn = 0; turn < 20; ++turn) {
    int order[kNodes];
    for (int i = 0; i < kNodes; ++i)
      order[i] = turn % 2 == 0 ? i : (kNodes - 1 - i + turn) % kNodes;
    for (int i = 0; i < kNodes; ++i) {
      EXPECT(0, pthread_mutex_init(&node[i].lock, NULL));
      node[order[i]].next = i + 1 < kNodes ? order[i + 1] : -1;
    }
    run(walk, &order[0]);
    run(walk, &order[0]);
    for (int i = 0; i < kNodes; ++i)
      EXPECT(0, pthread_mutex_destroy(&node[i].lock));
  }
}
// One lock in the middle goes, and the others are taken in an order that only it would close.
static void middle_gone(void) {
  run(deposit, NULL);
  run(pass_on, NULL);
  EXPECT(0, pthread_mutex_destroy(&second));
  run(bring_back, NULL);
}

static volatile int waiting;
static void* wait_for_change(void* mutex) {
  lock(mutex);
  ++waiting;
  while (waiting > 0)
    EXPECT(0, pthread_cond_wait(&changed, mutex));
  unlock(mutex);
  return NULL;
}
static pthread_t start_waiter(pthread_mutex_t* mutex, int before) {
  pthread_t waiter = start(wait_for_change, mutex);
  for (int there = before; there == before; sched_yield()) {
    lock(mutex);  // with it, a thread that has counted itself is in the wait
    there = waiting;
    unlock(mutex);
  }
  return waiter;
}
static void end_waits(pthread_mutex_t* mutex) {
  lock(mutex);
  waiting = 0;
  EXPECT(0, pthread_cond_broadcast(&changed));
  unlock(mutex);
}
static void two_mutexes(void) {
  pthread_t a = start_waiter(&first, 0), b = start_waiter(&second, 1);
  end_waits(&first);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
static void one_mutex(void) {
  pthread_t a = start_waiter(&first, 0), b = start_waiter(&first, 1);
  end_waits(&first);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}
static void mutex_after_mutex(void) {
  pthread_t a = start_waiter(&first, 0);
  end_waits(&first);
  pthread_join(a, NULL);
  pthread_t b = start_waiter(&second, 0);
  end_waits(&second);
  pthread_join(b, NULL);
}
static void another_cond(void) {
  pthread_t a = start_waiter(&first, 0);
  end_waits(&first);
  pthread_join(a, NULL);
  EXPECT(0, pthread_cond_destroy(&changed));
  EXPECT(0, pthread_cond_init(&changed, NULL));
  pthread_t b = start_waiter(&second, 0);
  end_waits(&second);
  pthread_join(b, NULL);
}
// The next one at the same place has an initialiser, no init.
static void next_cond(void) {
  pthread_t a = start_waiter(&first, 0);
  end_waits(&first);
  pthread_join(a, NULL);
  EXPECT(0, pthread_cond_destroy(&changed));
  changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pthread_t b = start_waiter(&second, 0);
  end_waits(&second);
  pthread_join(b, NULL);
}
// It has the second mutex while it waits for the first one's return.
static void* wait_with_another(void* unused) {
  const struct timespec past = {1, 0};
  lock(&first);
  lock(&second);
  EXPECT(ETIMEDOUT, pthread_cond_timedwait(&changed, &first, &past));
  unlock(&second);
  unlock(&first);
  return unused;
}
static void taken_again(void) {
  run(wait_with_another, NULL);
  run(deposit, NULL);
}

static void* take_first(void* unused) {
  lock(&first);
  return unused;
}
static void foreign(void) {
  run(take_first, NULL);
  unlock(&first);
}
// What a mutex was that another thread has released is no hold any more.
static volatile int turn;
static void* lock_and_go_on(void* unused) {
  lock(&second);
  turn = 1;
  while (turn != 2)
    sched_yield();
  lock(&first);
  unlock(&first);
  return unused;
}
static void released_by_another(void) {
  run(deposit, NULL);
  pthread_t thread = start(lock_and_go_on, NULL);
  while (turn != 1)
    sched_yield();
  unlock(&second);
  turn = 2;
  pthread_join(thread, NULL);
}

enum { kMany = 1500 };
static pthread_mutex_t many[kMany];
static void* hold_many(void* unused) {
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < kMany; ++i)
      lock(&many[i]);
    for (int i = 0; i < kMany; ++i)
      unlock(&many[i]);
  }
  return unused;
}
static void holds_many(void) {
  for (int i = 0; i < kMany; ++i)
    EXPECT(0, pthread_mutex_init(&many[i], NULL));
  run(hold_many, NULL);
}

static void forked(void) {
  run(take_third, NULL);
  lock(&first);
  pid_t child = fork();
  if (child == 0) {
    lock(&second);
    unlock(&second);
    unlock(&first);
    opposite();
    exit(0);
  }
  unlock(&first);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT(0, status);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    {"opposite", opposite},
    {"three", three},
    {"ring_of_twelve", ring_of_twelve},
    {"ring_of_thirteen", ring_of_thirteen},
    {"mutex_and_rwlock", mutex_and_rwlock},
    {"three_with_reads", three_with_reads},
    {"gates", gates},
    {"gate_of_two", gate_of_two},
    {"tries", tries},
    {"held_by_a_try", held_by_a_try},
    {"only_thread", only_thread},
    {"same_thread", same_thread},
    {"before_threads", before_threads},
    {"before_and_after", before_and_after},
    {"recursive", recursive},
    {"list", list},
    {"middle_gone", middle_gone},
    {"two_mutexes", two_mutexes},
    {"one_mutex", one_mutex},
    {"mutex_after_mutex", mutex_after_mutex},
    {"another_cond", another_cond},
    {"next_cond", next_cond},
    {"taken_again", taken_again},
    {"foreign", foreign},
    {"released_by_another", released_by_another},
    {"holds_many", holds_many},
    {"forked", forked},
};

int main(int argc, char** argv) {
  for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(argv[1], cases[i].name) != 0) continue;
    cases[i].run();
    puts("done");
    return 0;
  }
  fprintf(stderr, "usage: audit_orders NAME\n");
  return 2;
}
