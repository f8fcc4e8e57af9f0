/* The program of docs/rlu.md with RCU's list: jobs are added at its head. */
#include <errno.h>
#include <lockswap/rlu_rcu.h>
#include <lockswap/rlu_rculist.h>
#include <stdio.h>

struct job {
  struct rlu_list_head list; /* first */
  int number;
};
static RLU_LIST_HEAD(jobs);

int add(int number) {
  struct job* job = lockswap_rlu_alloc(sizeof *job);
  if (job == NULL) return ENOMEM;
  job->number = number;
  return list_add_rcu(&job->list, rlu_list(&jobs)); /* a section of its own; needs no lock */
}

int main(void) {
  if (add(1) != 0 || add(2) != 0) return 1;
  rcu_read_lock();
  struct job* job;
  const char* before = "";
  list_for_each_entry_rcu(job, rlu_list(&jobs), list) {
    printf("%s%d", before, job->number);
    before = " ";
  }
  rcu_read_unlock();
  printf("\n");
  return 0;
}
