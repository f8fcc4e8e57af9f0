/* Read-Log-Update under RCU's names: writers add jobs to a list without a lock, and a reader walks
 * it both ways. */
#include <lockswap/rlu_rcu.h>
#include <lockswap/rlu_rculist.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, JOBS = 100 };

struct job {
  struct rlu_list_head list; /* the first member */
  int number;
};
static RLU_LIST_HEAD(jobs);

static void* add(void* unused) {
  (void)unused;
  for (int i = 0; i < JOBS; ++i) {
    struct job* job = lockswap_rlu_alloc(sizeof *job);
    if (job == NULL) return &jobs;
    job->number = i;
    if (list_add_rcu(&job->list, rlu_list(&jobs)) != 0) return &jobs; /* a section of its own */
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  int forwards = 0, backwards = 0, wrong = 0;
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, add, NULL) != 0) return 1;
  }
  for (int round = 0; round < 100; ++round) { /* while they run */
    struct job* job;
    forwards = backwards = 0;
    rcu_read_lock();
    list_for_each_entry_rcu(job, rlu_list(&jobs), list) { ++forwards; }
    list_for_each_entry_reverse_rcu(job, rlu_list(&jobs), list) { ++backwards; }
    rcu_read_unlock();
    wrong += forwards != backwards;
  }
  for (int i = 0; i < THREADS; ++i) {
    void* failed = NULL;
    pthread_join(threads[i], &failed);
    wrong += failed != NULL;
  }
  forwards = 0;
  rcu_read_lock();
  struct job* job;
  list_for_each_entry_rcu(job, rlu_list(&jobs), list) { forwards += job->number < JOBS; }
  rcu_read_unlock();
  printf("%d jobs, %d wrong\n", forwards, wrong);
  return forwards == THREADS * JOBS && wrong == 0 ? 0 : 1;
}
