// Small programs with one real race each, and one without, chosen by the first word. Each works a
// moment between its steps, as programs do: plain repetition hits the window now and then.
//
//   update    a lost update between two critical sections: read in one, written in the next
//   check     check, then act, in two sections: two threads take the last item
//   order     two locks in opposite order
//   wait      a condition variable that is waited for without a look at what it stands for
//   free      an object is freed while a thread that has just released its lock goes on using it
//   right     none of these
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void work(int rounds) {
  for (volatile int i = 0; i < rounds; ++i) {}
}

// --- update: the second thread begins when the first has long finished, as a rule.
static void* update(void* late) {
  if (late) work(1000000);
  pthread_mutex_lock(&a);
  const int seen = value;
  pthread_mutex_unlock(&a);
  pthread_mutex_lock(&a);
  value = seen + 1;
  pthread_mutex_unlock(&a);
  return NULL;
}

// --- check
static int items = 1, taken;
static void* check(void* late) {
  if (late) work(1000000);
  pthread_rwlock_rdlock(&rw);
  const int there = items > 0;
  pthread_rwlock_unlock(&rw);
  if (!there) return NULL;
  pthread_rwlock_wrlock(&rw);
  --items;
  ++taken;
  pthread_rwlock_unlock(&rw);
  return NULL;
}

// --- order
static void* order(void* late) {
  if (late) work(1000000);
  pthread_mutex_lock(late ? &b : &a);
  pthread_mutex_lock(late ? &a : &b);
  ++value;
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return NULL;
}

// --- wait: the signal is lost when it comes before the wait.
static atomic_int is_about_to_wait;
static void* waiter(void* unused) {
  (void)unused;
  atomic_store(&is_about_to_wait, 1);
  pthread_mutex_lock(&a);
  pthread_cond_wait(&c, &a);
  pthread_mutex_unlock(&a);
  return NULL;
}
static void* signaller(void* late) {
  (void)late;
  while (!atomic_load(&is_about_to_wait))
    sched_yield();
  work(300000);
  pthread_mutex_lock(&a);
  value = 1;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&a);
  return NULL;
}

// --- free: the count is looked at after its lock was released.
struct object {
  pthread_mutex_t lock;
  int references;
  int* part;
};
static struct object* shared;
static void* use(void* late) {
  struct object* o = shared;
  if (late) work(1000000);
  pthread_mutex_lock(&o->lock);
  const int last = --o->references == 0;
  pthread_mutex_unlock(&o->lock);
  if (last) {
    int* part = o->part;
    o->part = NULL;
    free(part);
  } else {
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    if (o->part == NULL) abort();  // too late: the other one has ended it
    ++*o->part;
  }
  return NULL;
}

// --- right
static int ready;
static void* right(void* late) {
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    ++value;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_unlock(&rw);
  }
  pthread_mutex_lock(&a);
  if (late) {
    while (!ready)
      pthread_cond_wait(&c, &a);
  } else {
    ready = 1;
    pthread_cond_signal(&c);
  }
  pthread_mutex_unlock(&a);
  return NULL;
}

static void both(void* (*first)(void*), void* (*second)(void*)) {
  pthread_t t[2];
  pthread_create(&t[0], NULL, first, NULL);
  pthread_create(&t[1], NULL, second, &value);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
}

int main(int argc, char** argv) {
  const char* which = argc > 1 ? argv[1] : "";
  if (strcmp(which, "update") == 0) {
    both(update, update);
    printf("%d\n", value);
  } else if (strcmp(which, "check") == 0) {
    both(check, check);
    printf("%d left, %d taken\n", items, taken);
  } else if (strcmp(which, "order") == 0) {
    both(order, order);
    printf("%d\n", value);
  } else if (strcmp(which, "wait") == 0) {
    both(waiter, signaller);
    printf("%d\n", value);
  } else if (strcmp(which, "free") == 0) {
    shared = calloc(1, sizeof *shared);
    pthread_mutex_init(&shared->lock, NULL);
    shared->references = 2;
    shared->part = calloc(1, sizeof *shared->part);
    both(use, use);
    printf("done\n");
  } else if (strcmp(which, "right") == 0) {
    both(right, right);
    printf("%d\n", value);
  } else {
    fputs("races: update, check, order, wait, free or right\n", stderr);
    return 2;
  }
  return 0;
}
