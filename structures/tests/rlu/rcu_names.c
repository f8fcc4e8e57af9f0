/* The names of RCU onto Read-Log-Update, in C: a program of liburcu's kind with another include,
 * and a list. rcu_names_test.cpp runs it. */
#include "rcu_names.h"

#include <pthread.h>
#include <stdlib.h>

#include "lockswap/rlu_rcu.h"
#include "lockswap/rlu_rculist.h"

struct settings {
  int one;
  int other; /* the same */
  struct rcu_head head;
};
static struct settings* current;
static pthread_mutex_t writers = PTHREAD_MUTEX_INITIALIZER;
static int live; /* settings that are not freed */

static struct settings* fresh(int value) {
  struct settings* s = malloc(sizeof *s);
  if (s == NULL) abort();
  s->one = s->other = value;
  __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return s;
}
static void spoil(struct settings* s) {
  s->one = -1;
  s->other = -2;
  free(s);
  __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
}
static void called_back(struct rcu_head* head) {
  spoil((struct settings*)((char*)head - offsetof(struct settings, head)));
}

int rcu_read(void) {
  int value;
  struct settings* s;
  rcu_read_lock();
  s = rcu_dereference(current);
  value = s == NULL ? 0 : s->one == s->other ? s->one : -1;
  rcu_read_unlock();
  return value;
}
void rcu_replace(int value, int waits) {
  struct settings* old;
  pthread_mutex_lock(&writers);
  old = current;
  rcu_assign_pointer(current, value == 0 ? NULL : fresh(value));
  pthread_mutex_unlock(&writers);
  if (old == NULL) return;
  if (waits) {
    synchronize_rcu();
    spoil(old);
  } else {
    call_rcu(&old->head, called_back);
  }
}
int rcu_live(void) {
  rcu_barrier();
  return __atomic_load_n(&live, __ATOMIC_RELAXED);
}

struct job {
  struct rlu_list_head list;
  int number;
};
static RLU_LIST_HEAD(waiting);
static struct rlu_list running;

void list_begin(void) { rlu_list_init(&running); }
static struct rlu_list* list_of(int which) { return which == 0 ? &waiting : &running; }

void* list_put(int which, int number, int at_end) {
  struct job* job = lockswap_rlu_alloc(sizeof *job);
  struct rlu_list_head* list = rlu_list(list_of(which));
  if (job == NULL) abort();
  job->number = number;
  if ((at_end ? list_add_tail_rcu(&job->list, list) : list_add_rcu(&job->list, list)) != 0) abort();
  return job;
}
int list_take(void* entry) {
  struct job* job = entry;
  const int error = list_del_rcu(&job->list);
  return error != 0 ? error : lockswap_rlu_free(job);
}
void* list_put_instead(void* entry, int number) {
  struct job* job = lockswap_rlu_alloc(sizeof *job);
  struct job* old = entry;
  if (job == NULL) abort();
  job->number = number;
  if (list_replace_rcu(&old->list, &job->list) != 0 || lockswap_rlu_free(old) != 0) abort();
  return job;
}
void list_move(void* entry, int to) {
  struct job* job = entry;
  for (;;) {
    rcu_read_lock();
    if (list_del_rcu(&job->list) == 0 && list_add_rcu(&job->list, rlu_list(list_of(to))) == 0)
      break;
    if (lockswap_rlu_abort() != 0) abort();
  }
  rcu_read_unlock();
}
int list_walk(int which, int backwards, int* numbers, int most) {
  struct job* job;
  int n = 0;
  struct rlu_list_head* list = rlu_list(list_of(which));
  rcu_read_lock();
  if (backwards) {
    list_for_each_entry_reverse_rcu(job, list, list) {
      if (n < most) numbers[n++] = job->number;
    }
  } else {
    list_for_each_entry_rcu(job, list, list) {
      if (n < most) numbers[n++] = job->number;
    }
  }
  rcu_read_unlock();
  return n;
}
void list_section(void (*inside)(void*), void* with) {
  rcu_read_lock();
  inside(with);
  rcu_read_unlock();
}
